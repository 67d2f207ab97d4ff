"""Workbooks: reading scenarios from one, describing result sheets, writing them."""
