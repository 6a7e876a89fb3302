# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the reliability campaign: studies/campaign.py puts them together."""
