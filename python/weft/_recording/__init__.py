# SPDX-License-Identifier: Apache-2.0
"""What the hooks inside all frameworks share. Runs inside the recorded job: Python 3.8, no packages,
nothing compiled, and no exception that reaches the job.
"""
