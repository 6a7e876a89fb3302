# SPDX-License-Identifier: BSD-3-Clause
"""What is measured of Stretto: one module a page of docs/measured, its text in pages/. `python3 -m studies --help` lists them."""
