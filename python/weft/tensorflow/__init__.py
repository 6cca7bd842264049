# SPDX-License-Identifier: Apache-2.0
"""Weft's recording hook for TensorFlow."""
