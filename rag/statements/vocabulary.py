"""The words that carry facts in a rule: numbers, units, references, negations, modes, limits. English.

What is made of them is decided where statements are compared.
"""

from __future__ import annotations

import re


def _words(text: str) -> list[str]:
    return text.split()


_ONES = _words("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen")
_ONES += _words("seventeen eighteen nineteen")
_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS = _words("first second third fourth fifth sixth seventh eighth ninth tenth")

NUMBER_WORDS: dict[str, str] = (
    {word: str(value) for value, word in enumerate(_ONES) if word != "one"}
    | {word: str(value) for value, word in zip(range(20, 100, 10), _TENS, strict=True)}
    | {f"{tens}-{ones}": str(20 + 10 * i + j) for i, tens in enumerate(_TENS) for j, ones in enumerate(_ONES[1:10], 1)}
    | {word: str(value) for value, word in enumerate(_ORDINALS, 1) if word != "second"}
    | {"hundred": "100", "thousand": "1000", "million": "1000000", "billion": "1000000000", "dozen": "12"}
    | {"twice": "2", "half": "0.5", "double": "2", "daily": "every day", "weekly": "every week"}
    | {"monthly": "every month", "quarterly": "every quarter", "annually": "every year", "annual": "every year"}
    | {"yearly": "every year"}
)
DATES = frozenset(
    _words("january february april june july august september october november december")
    + _words("monday tuesday wednesday thursday friday saturday sunday")
)  # "may" and "march" are verbs too
UNITS = frozenset(
    _words("second seconds minute minutes hour hours day days week weeks month months quarter quarters year years")
    + _words("business working calendar banking percent basis cents")
    + _words("kb mb gb tb times kg g mg t lb km m cm mm mi l ml kw kwh mw mwh hz")
)
CURRENCIES = {word: word for word in _words("eur usd gbp chf jpy inr brl cad aud cny sek nok dkk pln")} | {
    "dollar": "usd", "dollars": "usd", "euro": "eur", "euros": "eur", "pound": "gbp", "pounds": "gbp",
    "yen": "jpy", "rupees": "inr",
}  # fmt: skip
SIGNS = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy", "₹": "inr", "%": "percent", "‰": "permille", "°": "degree"}
REFERENCES = frozenset(
    _words("section sections clause clauses article articles chapter chapters paragraph paragraphs step steps")
    + _words("figure table appendix annex schedule exhibit page item items note footnote")
)
NEGATIONS = frozenset(
    _words("no not never none nobody nothing nor without cannot can't won't don't doesn't isn't aren't mustn't")
    + _words("shouldn't prohibit prohibits prohibited forbid forbids forbidden ban bans banned disallow disallowed")
    + _words("deny denies denied refuse refuses refused reject rejects rejected")
)
MODES: dict[str, frozenset[str]] = {
    "must": frozenset(
        _words("must shall require requires required requirement need needs needed obliged obligation mandatory")
    ),
    "should": frozenset(_words("should recommended recommend recommends encouraged advisable")),
    "may": frozenset(_words("may can could might allow allows allowed permit permits permitted optional")),
}
LIMITS = frozenset(_words("only solely exclusively unless except excepting exception excluding exempt exempted waived"))
PHRASES = (
    (re.compile(r"\b(?:no|not)\s+(?:more|later|longer|fewer|less|greater|higher)\s+than\b", re.IGNORECASE), "within"),
    (re.compile(r"\b(?:do|does|must|may|shall|can)?\s*not\s+exceed(?:ing)?\b", re.IGNORECASE), "within"),
    (re.compile(r"\bneither\b", re.IGNORECASE), ""),  # the `nor` that follows is counted
    (re.compile(r"\bnot\s+only\b", re.IGNORECASE), ""),
    (re.compile(r"\bprovided\s+that\b|\bas\s+long\s+as\b", re.IGNORECASE), "only"),
    (re.compile(r"\b(?:has|have)\s+to\b", re.IGNORECASE), "must"),
    (re.compile(r"\bother\s+than\b", re.IGNORECASE), "except"),
)
_OPPOSITES = _words("before/after above/below over/under maximum/minimum max/min most/least more/less more/fewer")
_OPPOSITES += _words(
    "greater/less higher/lower longer/shorter earlier/later first/last include/exclude all/some all/most"
)
_OPPOSITES += _words("every/some always/sometimes always/rarely often/rarely increase/decrease raise/lower rise/fall")
_OPPOSITES += _words("open/closed open/shut begin/end start/end internal/external public/private incoming/outgoing")
_OPPOSITES += _words("inbound/outbound upload/download buyer/seller sender/recipient sender/receiver payer/payee")
_OPPOSITES += _words("creditor/debtor debit/credit lender/borrower employer/employee landlord/tenant licensor/licensee")
_OPPOSITES += _words("keep/destroy keep/delete retain/delete enable/disable free/charged either/both former/latter")
_OPPOSITES += _words("accept/decline gross/net with/without full/partial voluntary/mandatory")
OPPOSITES: tuple[tuple[str, str], ...] = tuple((one, other) for one, other in (p.split("/") for p in _OPPOSITES))
COMMON = frozenset(
    _words("a an the this that these those it its he she they them their his her we you your our i me my")
    + _words("of to in on at for by with from as into over under about and or but if then than so")
    + _words("is are was were be been being do does did have has had will would can could may might must shall should")
    + _words("not no yes only any all each every per there here when where which who whom whose what how why")
    + _words("also such up out off same more most other")
)
