# SPDX-License-Identifier: Apache-2.0
"""Installs Weft's recording hooks in every Python process of a recorded job.

`weft record` puts this folder first on PYTHONPATH, so every Python that the job starts runs this
file before the job's own code.

Weft need not be installed where the job runs: this file imports the hooks from the folder beside
it. It imports them under the name _weft, so that a package weft that the job itself imports stays
separate. No error in this file may stop the job.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _install_hooks():  # type: () -> None
    if sys.version_info < (3, 8) or not os.environ.get("WEFT_RECORD"):
        return
    import importlib
    import types

    package = types.ModuleType("_weft")
    package.__path__ = [os.path.dirname(_HERE)]
    sys.modules["_weft"] = package
    importlib.import_module("_weft._recording.hooks").install()


def _run_next_sitecustomize():  # type: () -> None
    """Run the sitecustomize module that this file hides, if the environment has another one."""
    import importlib.machinery
    import importlib.util

    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _run():  # type: () -> None
    try:
        _install_hooks()
    except Exception as error:
        sys.stderr.write("weft: warning: not recording this process: %r\n" % (error,))
    _run_next_sitecustomize()


if __name__ == "sitecustomize":
    _run()
