# SPDX-License-Identifier: BSD-3-Clause
"""What is measured of Stretto: a module for each page of docs/measured, whose text is in pages/."""
