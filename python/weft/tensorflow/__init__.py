# SPDX-License-Identifier: Apache-2.0
"""What Weft does inside TensorFlow."""
