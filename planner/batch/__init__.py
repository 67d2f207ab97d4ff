"""Many workbooks through the same road as one: found, shared out, remembered in a ledger, and summed up."""
