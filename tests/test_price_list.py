"""Lists of prices: what is read, and what is said at its cell."""

import openpyxl
import pytest

from planner.issues import PlannerError
from planner.workbook.price_list import read_prices


def csv_of(tmp_path, *lines):
    path = tmp_path / "prices.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.mark.parametrize(
    ("lines", "prices", "currency"),
    [
        (["Device,Price per device (USD/h)", "H100 SXM,2.50", "H200 SXM,3"], {"H100 SXM": 2.5, "H200 SXM": 3.0}, "USD"),
        # Where the comma is the decimal sign, semicolons part cells.
        (["Device;Price (EUR/h)", "H100 SXM;2,50"], {"H100 SXM": 2.5}, "EUR"),
        (["device,cost per hour", "A,1.5"], {"A": 1.5}, ""),
        (["Device,Price per hour,Currency", "A,1.5,CHF", "B,2,CHF"], {"A": 1.5, "B": 2.0}, "CHF"),
        (["Device,Price", "A,$2.50", "B,3 USD"], {"A": 2.5, "B": 3.0}, "USD"),
        (["Device,Price ($/h)", "A,2.50"], {"A": 2.5}, "USD"),
        (["Device,Price,Currency", "A,\u20ac2.50,eur"], {"A": 2.5}, "EUR"),
        # A title above, a column of notes, rows without a price, the same price twice.
        (["Our prices", "Device,Note,Price", "A,x,1", "B,none,", ",,3", "A,again,1"], {"A": 1.0}, ""),
    ],
)  # fmt: skip
def test_a_list_is_read(tmp_path, lines, prices, currency):
    found = read_prices(csv_of(tmp_path, *lines))
    assert (found.prices, found.currency) == (prices, currency)


def test_a_workbooks_list_is_found_on_any_sheet(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["Nothing here"])
    sheet = book.create_sheet("Prices")
    for row in (("Device", "Price per device (GBP/h)"), ("H100 SXM", 2.25), ("L40S", 0.8)):
        sheet.append(row)
    book.save(tmp_path / "prices.xlsx")
    found = read_prices(tmp_path / "prices.xlsx")
    assert (found.prices, found.currency) == ({"H100 SXM": 2.25, "L40S": 0.8}, "GBP")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["Device,Note", "A,1"],
         "{path} has no list of prices; expected a column Device and a column Price per device (money per hour)."),
        (["Device,Price"],
         "{path} has no price below its header 'prices.csv'!1; expected a column Device and a column Price per device "
         "(money per hour)."),
        (["Device,Price,Currency", "A,abc,EUR", "B,0,EUR", "C,1,USD", "C,2,EUR"],
         "'prices.csv'!B2: Price per device is 'abc', not a number; expected a number above 0 (money/h). "
         "'prices.csv'!B3: Price per device is 0 money/h; expected a number above 0 (money/h). "
         "'prices.csv'!C4: Currency is USD; expected EUR as above. "
         "'prices.csv'!B5: C is priced twice; expected 1 as above."),
        (["Device,Price", "A,$1", "B,\u20ac1"], "'prices.csv'!B3: Currency is EUR; expected USD as above."),
        (["Device,Price", "A,\u00a51"],
         "'prices.csv'!B2: Price per device is in JPY or CNY: they share a sign; expected the currency's code in a column "
         "Currency."),
        (["Device,Price (kr/h)", "A,1"],
         "'prices.csv'!B1: Price per device is in SEK or NOK or DKK: they share a sign; expected the currency's code in a "
         "column Currency."),
        (["Device,Price (EUR/h),Currency", "A,1,USD"], "'prices.csv'!C2: Currency is USD; expected EUR as above."),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, lines, said):
    path = csv_of(tmp_path, *lines)
    with pytest.raises(PlannerError) as refused:
        read_prices(path)
    assert str(refused.value) == said.format(path=path)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(PlannerError, match=r"none.csv cannot be read \(No such file or directory\)\."):
        read_prices(tmp_path / "none.csv")
    (tmp_path / "bad.csv").write_bytes(b"Device,Price\n\xff\xfe,1\n")
    with pytest.raises(PlannerError, match=r"bad.csv cannot be read \(it is no UTF-8 text; save it as CSV UTF-8\)\."):
        read_prices(tmp_path / "bad.csv")
