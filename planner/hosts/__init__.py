"""Where planner runs inside Excel: functions and add-in for Windows, and the workbook that is open."""
