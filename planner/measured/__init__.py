"""Measured rates: a table of them read, each row as a scenario, predicted by the one estimator."""

from __future__ import annotations

from planner.measured.predict import Prediction, predict
from planner.measured.rows import MeasuredRow, MeasuredTable, read_measured
from planner.measured.scenario import Setting, setting_of

__all__ = ["MeasuredRow", "MeasuredTable", "Prediction", "Setting", "predict", "read_measured", "setting_of"]
