# SPDX-License-Identifier: Apache-2.0
"""The code that the recording hooks of all frameworks share.

It runs inside the recorded job. So it must work with Python 3.8, must not import third-party
packages or compiled modules, and must not let any exception reach the job.
"""
