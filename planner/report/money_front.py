"""The first page where costs decide: the answer in money, its figures, and all costs against the API."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from planner.plan.basis import fits, has_estimate, has_range, planning_rate, response_of
from planner.plan.recommend import AgainstApi, Standing, against_api
from planner.report import money
from planner.report.alerts import Alert
from planner.report.front import Tile, Verdict, aside_words, caution, ends_of, meets_words, named
from planner.report.money_comparison import comparison, decision, demand_words, other_apis
from planner.report.numbers import as_percent, plain
from planner.report.numbers import money as amount
from planner.report.parts import count, cut, in_words, labels, listed, say, sentence, with_unit
from planner.report.shapes import Bar, Figure
from planner.report.tables import ranked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.plan.scenario import Result
    from planner.plan.study import Case, Study
    from planner.report.money import Till
    from planner.report.money_comparison import Comparison, Year

MOST_BARS: Final = 10
_PER_M: Final = "per million output tokens"


def verdict(study: Study) -> Verdict:
    """Which scenario costs least, by how much it beats the next and the API, and what is asked of the reader.

    Where a year of its demand is compared with the API, headline and decision follow the year.
    """
    found = comparison(study)
    if found is None:
        raise ValueError("costs decide only where there is a best")
    best = found.best
    body = [_cost(best, found.till), _api(found), _next(study, best, found.till), demand_words(found)]
    body += [other_apis(study, found), _others_beat_api(study, best), _speed(best)]
    if study.recommendation.mixed:
        body.append("Not like for like: models or request sizes differ, and a smaller model or request serves more.")
    return Verdict(
        "bad" if found.pays is False else "good",
        "Recommendation",
        _title(study, found),
        tuple(text for text in body if text),
        _caution(study, best.result),
        decision(study, found),
    )


def _title(study: Study, found: Comparison) -> str:
    best, result = found.best, found.best.result
    own = found.till.price(result.cost_per_m_tokens)
    api = "" if found.offer is None else found.told.price(found.offer.per_m_output)
    if found.turned and found.year is not None:
        return _year_title(found, found.year)
    match found.stands:
        case AgainstApi.NEVER:
            return f"Use {found.api} at {api} {_PER_M}: {best.label} costs {own} and never gets cheaper"
        case AgainstApi.DEARER:
            return (
                f"Use {found.api} at {as_percent(result.busy_share or 0.0)} utilisation: {api} against {own} {_PER_M}"
            )
        case AgainstApi.CHEAPER if found.offer is not None:
            less = found.offer.per_m_output - (found.till.of(result.cost_per_m_tokens) or 0.0)
            return f"{_least(study, best)} {own} {_PER_M}, {found.told.price(less)} below {found.api}"
    return f"{_least(study, best)} {own} {_PER_M}"


def _year_title(found: Comparison, year: Year) -> str:
    """The headline where a year of demand says otherwise than the cost of a token."""
    till, label = found.told, found.best.label
    cost, bill = till.short(year.cost + year.once), till.short(year.bill)
    if found.pays:
        return f"{label} saves {till.short(year.saved)} in twelve months of its demand: {cost} against {bill} by API"
    return f"Use {found.api} for the demand of {label}: {bill} for twelve months against {cost}"


def _least(study: Study, best: Case) -> str:
    if study.recommendation.compared == 1:
        return f"{best.label} costs"
    ties = study.recommendation.ties
    equal = f", equal with {count(ties, 'other')}" if ties else ""
    return f"{best.label} costs least{equal}:"


def _cost(best: Case, till: Till) -> str:
    result = best.result
    devices = count(int(result.fleet_devices or 1), "device")
    rate = till.rate
    converted = "" if rate == 1.0 else f", converted at {plain(rate)}"
    return (
        f"{named(best)}, {devices}, costs {till.sum(result.monthly_cost)} a month for "
        f"{with_unit('monthly_capacity_m_tokens', result.monthly_capacity_m_tokens)} of output "
        f"({money.allocated(result)}; {money.basis(result)}{f'; {till.code}' if till.code else ''}{converted})."
    )


def _api(found: Comparison) -> str:
    """How the scenario stands against the API; nothing where that is not known."""
    share, saving, till = found.share, found.saving, found.told
    if saving is None or found.offer is None:
        return ""
    named_api = found.offer.case.result.scenario.api
    name = f"{found.api} ({cut(named_api, 32)})" if named_api else found.api
    said = f"For the same output with its prompts {name} charges {till.sum(found.bill)} a month: "
    less, at = till.sum(-saving), "" if share is None else money.percent(share)
    if share is None:
        return f"{said}{less} less, since it is free."
    if share > 1:
        return f"{said}{less} less. Break-even takes {at} of what the hardware can serve, so never."
    if saving < 0:
        return f"{said}{less} less. From {at} utilisation on the scenario is the cheaper one."
    return f"{said}the scenario saves {till.sum(saving)}. Below {at} utilisation the API is the cheaper one."


def _next(study: Study, best: Case, till: Till) -> str:
    """By how much it beats the next, among how many, and who is not among them."""
    r = study.recommendation
    aside = aside_words(study)
    if len(study.cases) == 1:
        return f"It {meets_words(study, 1)}."
    meets = meets_words(study, r.compared)
    if r.compared == 1:
        said = f"It is the only one of {in_words(len(study.cases))} scenarios that {meets} and can be compared"
    else:
        second = ranked(study)[1 + r.ties] if r.compared > 1 + r.ties else None
        said = f"Criterion: {r.criterion}, among {count(r.compared, 'scenario')} that {meets}"
        if second is not None:
            own, other = r.value(best.result) or 0.0, r.value(second.result) or 0.0
            in_purse = money.Till(till.code)
            more = f", {as_percent(other / own - 1)} more" if own else ""
            said = f"The next, {named(second)}, costs {in_purse.price(other)}{more}. {said}"
    return f"{said}; set aside: {listed(aside)}." if aside else f"{said}."


def _others_beat_api(study: Study, best: Case) -> str:
    """Scenarios that beat their own API where the cheapest of all does not."""
    if against_api(best.result) not in {AgainstApi.DEARER, AgainstApi.NEVER}:
        return ""
    able = zip(study.cases, study.recommendation.standings, strict=True)
    beat = [
        case.number
        for case, standing in able
        if standing is Standing.RANKED and against_api(case.result) is AgainstApi.CHEAPER
    ]
    return f"Cheaper than their own API: {labels(beat)}." if beat else ""


def _speed(best: Case) -> str:
    result = best.result
    rate = with_unit("tokens_per_sec", planning_rate(result))
    how = f"an estimated {rate} ({ends_of(result)})" if has_range(result) else f"{rate} at most"
    said = f"One stream runs at {how}"
    takes = response_of(result)
    if takes is not None:
        said += f" and a request takes {with_unit('response_time_s', takes)}"
    return f"{said}."


def _caution(study: Study, best: Result) -> str:
    said = caution(study, best)
    if said or has_estimate(best):
        return said
    return "This cost rests on an upper bound of speed, so that a token really costs more."


def tiles(study: Study) -> tuple[Tile, ...]:
    """Up to four figures of the scenario that costs least."""
    versus = comparison(study)
    if versus is None:
        return ()
    result, till = versus.best.result, versus.till
    scenario = result.scenario
    busy = as_percent(result.busy_share or 0.0)
    used = till.price(result.used_cost_per_m_tokens)
    found = [
        Tile(
            "Cost per million output tokens",
            till.price(result.cost_per_m_tokens),
            "",
            f"{money.basis(result)}, allocated at {busy}; {used} at full load",
        ),
        _saving_tile(versus),
    ]
    if (even := _break_even_tile(versus)) is not None:
        found.append(even)
    target = scenario.target_tokens_per_sec
    against = f"target {plain(target)}" if target else "reading pace is 10"
    kind = "estimate" if has_range(result) else "upper bound"
    found.append(
        Tile("Speed of one stream", say("tokens_per_sec", planning_rate(result)), "tok/s", f"{kind}; {against}")
    )
    return tuple(found)


def _saving_tile(found: Comparison) -> Tile:
    """What is saved against the API: over the year of the demand, else in a month; or what a month costs."""
    result, till, year, saving = found.best.result, found.told, found.year, found.saving
    if year is not None and year.saved is not None:
        bills = f"{till.short(year.cost + year.once)} against {till.short(year.bill)} by API"
        if year.saved >= 0:
            return Tile("Saving in twelve months", till.short(year.saved), "", bills)
        return Tile("Dearer in twelve months", till.short(-year.saved), "", bills)
    monthly = found.till.short(result.monthly_cost)
    if saving is None:
        return Tile("Cost a month", monthly, "", f"busy or not, {plain(result.scenario.hours_per_month or 0.0)} h")
    bills = f"{monthly} against {till.short(found.bill)} by API"
    if saving >= 0:
        return Tile("Saving a month against the API", till.short(saving), "", bills)
    return Tile("Dearer a month than the API", till.short(-saving), "", bills)


def _break_even_tile(found: Comparison) -> Tile | None:
    """The utilisation from which on the scenario costs less; None where no API is compared."""
    share = found.share
    if share is None:
        free = found.stands is AgainstApi.NEVER
        return Tile("Break-even utilisation", "never", "", "the API is free") if free else None
    at = money.percent(share)
    if share > 1:
        return Tile("Break-even utilisation", "never", "", f"it would take {at} of the capacity")
    busy = as_percent(found.best.result.busy_share or 0.0)
    return Tile("Break-even utilisation", at, "", f"the plan assumes {busy}")


def alerts(study: Study) -> list[Alert]:
    """What could change the answer in money: the utilisation, what moves the cost most, and what is not compared."""
    found = []
    apart = [case.number for case in money.costed(study) if not study.purse.holds(case.result.scenario)]
    if apart:
        said = f"{labels(apart)} in other currencies without a rate and its day."
        found.append(Alert("Not compared:", said, "cost"))
    versus = comparison(study)
    if versus is None or not study.recommendation.by_cost:
        return found
    best, till, result = versus.best, versus.till, versus.best.result
    share, busy = versus.share, result.busy_share or 0.0
    if busy > _POINTS:
        more = money.cost_at(result, busy - _POINTS) - (result.cost_per_m_tokens or 0.0)
        below = f"Below {money.percent(share)} the API is cheaper; ten" if share is not None and share <= 1 else "Ten"
        said = f"{below} percentage points less cost {till.price(more)} more {_PER_M}."
        found.insert(0, Alert("Utilisation.", said, "cost"))
    widest = next((swing for swing in money.swings(study, best) if swing.name != "Utilisation"), None)
    if widest is not None:
        ends = f"{till.price(widest.cheap_cost)} to {till.price(widest.dear_cost)}"
        between = money.between(*money.ends(widest, money.own_till(study, result).code))
        found.append(Alert(f"{sentence(widest.name)}.", f"From {between} it costs {ends} {_PER_M}.", "sensitivity"))
    return found


_POINTS: Final = 0.1


def shown(study: Study) -> list[Case]:
    """The cases of the chart: all that are compared, in the workbook's order, or the best ones, cheapest first."""
    cases = money.compared(study)
    if len(cases) <= MOST_BARS:
        return cases
    able = {case.number for case in cases}
    first = [case for case in ranked(study) if case.number in able][:MOST_BARS]
    return sorted(first, key=lambda case: _amount(study, case))


def _amount(study: Study, case: Case) -> float:
    return study.purse.amount(case.result, "cost_per_m_tokens") or 0.0


def _api_amount(study: Study, case: Case) -> float | None:
    return study.purse.amount(case.result, "api_cost_per_m_output")


def one_api(study: Study, cases: Sequence[Case]) -> float | None:
    """What an API charges for a million output tokens, where it is the same for all of these."""
    found = [_api_amount(study, case) for case in cases]
    known = [value for value in found if value is not None]
    same = bool(known) and len(known) == len(found) and all(math.isclose(value, known[0]) for value in known)
    return known[0] if same else None


def bars(study: Study) -> tuple[Bar, ...]:
    """The cost of a million output tokens of each scenario, hatched where it does not qualify or the API is cheaper."""
    cases = shown(study)
    till = money.Till(study.purse.code)
    common = one_api(study, cases)
    decimals = till.decimals(*(_amount(study, case) for case in cases))
    mixed = any(has_estimate(case.result) for case in cases)
    versus = comparison(study)
    pays = versus is None or versus.pays is not False
    found = []
    for case in cases:
        result = case.result
        standing = study.recommendation.standings[case.number - 1]
        remarks = []
        if result is study.recommendation.best and len(study.cases) > 1:
            remarks.append("recommended" if pays else "cheapest")
        elif standing in _WHY_NOT:
            remarks.append(_WHY_NOT[standing])
        if mixed and not has_estimate(result):
            remarks.append("upper bound of speed")
        api = _api_amount(study, case)
        if common is None and api is not None:
            remarks.append(f"API {till.price(api)}")
        value = _amount(study, case)
        text = amount(value, till.code, decimals)
        found.append(
            Bar(
                f"{case.label} {case.name}",
                value,
                ", ".join([text, *remarks]),
                hatched=_beaten(result) or standing in _WHY_NOT,
                strong=result is study.recommendation.best,
                outlined=mixed and not has_estimate(result),
                mark=None if common is not None else api,
            )
        )
    return tuple(found)


_WHY_NOT: Final = {
    Standing.NO_FIT: "does not fit",
    Standing.UNSTABLE: "unstable",
    Standing.SLOW: "too slow",
    Standing.LATE: "too late",
}


def _beaten(result: Result) -> bool:
    return against_api(result) in {AgainstApi.DEARER, AgainstApi.NEVER}


def bars_mark(study: Study) -> tuple[float | None, str]:
    """The API's line, where one holds for all bars, and its words."""
    common = one_api(study, shown(study))
    return common, "" if common is None else f"API {money.Till(study.purse.code).price(common)}"


_TWO: Final = 2


def bars_figure(study: Study) -> Figure:
    """How many scenarios beat the API, and what the bars mean."""
    every, cases = money.compared(study), shown(study)
    compared = [case for case in every if _api_amount(study, case) is not None]
    # What is not known to fit counts only where nothing is known to, and is not said to fit then.
    sure = [case for case in compared if fits(case.result)]
    held = sure or [case for case in compared if fits(case.result) is None]
    many = "scenarios that fit" if sure else "scenarios"
    beat = sum(not _beaten(case.result) for case in held)
    if all(fits(case.result) is False for case in every):
        title = "No scenario that has a cost fits its hardware"
    elif not held:
        low, high = (pick(_amount(study, case) for case in every) for pick in (min, max))
        till = money.Till(study.purse.code)
        if till.price(low) == till.price(high):
            title = f"A million output tokens cost {till.price(low)}"
        else:
            title = f"A million output tokens cost {till.price(low)} to {till.price(high)}"
    elif len(held) == 1:
        title = f"{held[0].label} {'costs less' if beat else 'costs more'} than the API"
    elif beat == len(held):
        title = f"{'Both' if beat == _TWO else f'All {in_words(beat)}'} {many} cost less than the API"
    elif not beat:
        title = f"No scenario of {in_words(len(held))}{' that fit' if sure else ''} costs less than the API"
    else:
        cost = "costs" if beat == 1 else "cost"
        title = f"{sentence(in_words(beat))} of {in_words(len(held))} {many} {cost} less than the API"
    shares = sorted({case.result.busy_share or 0.0 for case in cases})
    at = (
        as_percent(shares[0])
        if as_percent(shares[0]) == as_percent(shares[-1])
        else (f"{as_percent(shares[0])} to {as_percent(shares[-1])}")
    )
    subtitle = f"Cost {_PER_M}{f', {study.purse.code}' if study.purse.code else ''}, allocated at {at} utilisation"
    if len(every) > len(cases):
        subtitle += f"; the {len(cases)} best of {plain(len(every))}, cheapest first"
    drawn = bars(study)
    if any(bar.hatched for bar in drawn):
        subtitle += "; hatched: dearer than the API or does not qualify"
    if any(bar.mark is not None for bar in drawn):
        subtitle += "; tick: its own API"
    return Figure(title, subtitle, f"Cost {_PER_M} of each scenario against its API. {title}.")
