"""Text as written -> words as spoken: numbers, dates, times, prices, abbreviations, units and initialisms of everyday English.

`tokens(text)` returns one entry per white-space token of the text, [(token, spoken)], where spoken keeps the punctuation that the
teacher's prosody needs; `words(text)` returns the bare lower-case words (the judge compares these on both sides).
The talker is trained on the text as written; only the teacher and the judge see the spoken form.
"""
import re

ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen").split()
TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
SCALES = [(10 ** 12, "trillion"), (10 ** 9, "billion"), (10 ** 6, "million"), (1000, "thousand")]
ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
            "twelve": "twelfth"}
MONTHS = ("January February March April May June July August September October November December").split()
MONTH_SHORT = {"Jan": 0, "Feb": 1, "Mar": 2, "Apr": 3, "Jun": 5, "Jul": 6, "Aug": 7, "Sep": 8, "Sept": 8, "Oct": 9, "Nov": 10,
               "Dec": 11}
DAY_SHORT = {"Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday", "Thur": "Thursday",
             "Thurs": "Thursday", "Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday"}
# Written with a full stop, wherever they stand.
ABBREVIATIONS = {
    "mr.": "mister", "mrs.": "missis", "ms.": "miz", "dr.": "doctor", "prof.": "professor", "st.": "saint", "jr.": "junior",
    "sr.": "senior", "vs.": "versus", "etc.": "et cetera", "e.g.": "for example", "i.e.": "that is", "approx.": "approximately",
    "dept.": "department", "gov.": "governor", "gen.": "general", "capt.": "captain", "lt.": "lieutenant", "sgt.": "sergeant",
    "col.": "colonel", "rev.": "reverend", "hon.": "honorable", "inc.": "incorporated", "ltd.": "limited", "co.": "company",
    "corp.": "corporation", "ave.": "avenue", "blvd.": "boulevard", "rd.": "road", "apt.": "apartment", "mt.": "mount",
    "ft.": "feet", "in.": "inches", "oz.": "ounces", "lb.": "pounds", "lbs.": "pounds", "min.": "minutes", "sec.": "seconds",
    "hr.": "hour", "hrs.": "hours", "no.": "number", "vol.": "volume", "p.": "page", "pp.": "pages", "fig.": "figure",
    "est.": "established", "tel.": "telephone", "ext.": "extension", "misc.": "miscellaneous", "a.m.": "A M", "p.m.": "P M",
    "u.s.": "U S", "u.k.": "U K", "u.s.a.": "U S A", "d.c.": "D C", "ph.d.": "P H D", "p.s.": "P S", "b.c.": "B C", "a.d.": "A D",
}
# These are ordinary words too: they are abbreviations only beside a number (after it, or before it for "no.", "p.").
AFTER_NUMBER = {"ft.", "in.", "oz.", "lb.", "lbs.", "min.", "sec.", "hr.", "hrs."}
BEFORE_NUMBER = {"no.", "p.", "pp.", "fig.", "vol.", "ext.", "apt.", "tel."}
UNITS = {
    "km": "kilometers", "m": "meters", "cm": "centimeters", "mm": "millimeters", "kg": "kilograms", "g": "grams", "mg": "milligrams",
    "l": "liters", "ml": "milliliters", "lb": "pounds", "lbs": "pounds", "oz": "ounces", "ft": "feet", "mi": "miles",
    "mph": "miles per hour", "km/h": "kilometers per hour", "kph": "kilometers per hour", "hz": "hertz", "khz": "kilohertz",
    "mhz": "megahertz", "ghz": "gigahertz", "kb": "kilobytes", "mb": "megabytes", "gb": "gigabytes", "tb": "terabytes",
    "kw": "kilowatts", "w": "watts", "v": "volts", "ms": "milliseconds", "s": "seconds", "min": "minutes", "h": "hours",
    "hrs": "hours", "°c": "degrees Celsius", "°f": "degrees Fahrenheit", "°": "degrees", "am": "A M", "pm": "P M", "sq": "square",
    "k": "thousand", "x": "times", "bn": "billion",
}
SINGULAR = {"feet": "foot", "inches": "inch", "hertz": "hertz", "kilohertz": "kilohertz", "megahertz": "megahertz",
            "gigahertz": "gigahertz", "miles per hour": "mile per hour", "kilometers per hour": "kilometer per hour",
            "degrees Celsius": "degree Celsius", "degrees Fahrenheit": "degree Fahrenheit", "A M": "A M", "P M": "P M",
            "square": "square", "thousand": "thousand", "times": "times", "billion": "billion"}
CURRENCY = {"$": ("dollar", "cent"), "£": ("pound", "penny"), "€": ("euro", "cent"), "¥": ("yen", "sen")}
SYMBOLS = {"&": "and", "+": "plus", "=": "equals", "@": "at", "%": "percent", "#": "number", "/": "slash", "*": "times", "<": "less than",
           ">": "greater than", "~": "about", "°": "degrees", "→": "to", "–": "—"}
# Capitals that are read as a word.
READ_AS_WORD = {"NASA", "NATO", "UNESCO", "UNICEF", "AIDS", "OPEC", "LASER", "RADAR", "PIN", "RAM", "ROM", "GIF", "JPEG", "ASAP", "WIFI",
                "OK", "FAQ", "CEO"} - {"OK", "FAQ", "CEO", "ASAP"}
ROMAN = {"II": "the second", "III": "the third", "IV": "the fourth", "VI": "the sixth", "VII": "the seventh", "VIII": "the eighth",
         "IX": "the ninth", "XIV": "the fourteenth", "XVI": "the sixteenth"}


def cardinal(n):
    """A whole number as words."""
    if n < 0:
        return "minus " + cardinal(-n)
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10] + ("" if n % 10 == 0 else " " + ONES[n % 10])
    if n < 1000:
        return ONES[n // 100] + " hundred" + ("" if n % 100 == 0 else " " + cardinal(n % 100))
    for size, name in SCALES:
        if n >= size:
            if n // size >= 1000:
                return digits(str(n))
            return cardinal(n // size) + " " + name + ("" if n % size == 0 else " " + cardinal(n % size))


def ordinal(n):
    """1 -> first, 21 -> twenty first."""
    head, _, last = cardinal(n).rpartition(" ")
    if last in ORDINALS:
        last = ORDINALS[last]
    elif last.endswith("y"):
        last = last[:-1] + "ieth"
    else:
        last += "th"
    return (head + " " + last).strip()


def year(n):
    """1984 -> nineteen eighty four, 2005 -> two thousand five, 1900 -> nineteen hundred."""
    if 2000 <= n < 2010 or n % 1000 == 0:
        return cardinal(n)
    high, low = divmod(n, 100)
    if low == 0:
        return cardinal(high) + " hundred"
    return cardinal(high) + (" oh " + ONES[low] if low < 10 else " " + cardinal(low))


def digits(text):
    """Each digit by its name; other signs become a comma's pause."""
    out = []
    for run in re.findall(r"\d+", text):
        out.append(" ".join(ONES[int(c)] for c in run))
    return ", ".join(out)


def number(text):
    """A plain number with thousands commas and a decimal point."""
    text = text.replace(",", "")
    if "." in text:
        whole, _, part = text.partition(".")
        return (cardinal(int(whole)) if whole else "zero") + " point " + " ".join(ONES[int(c)] for c in part)
    if len(text) > 1 and text[0] == "0":
        return digits(text)
    return cardinal(int(text))


def money(sign, amount, scale):
    big, small = CURRENCY[sign]
    plural = lambda n, w: w if n == 1 or w == "yen" else ("pence" if w == "penny" else w + "s")
    amount = amount.replace(",", "")
    if scale:
        return f"{number(amount)} {scale} {plural(2, big)}"
    whole, _, part = amount.partition(".")
    whole = int(whole or 0)
    cents = int(part.ljust(2, "0")[:2]) if part else 0
    if not cents:
        return f"{cardinal(whole)} {plural(whole, big)}"
    if not whole:
        return f"{cardinal(cents)} {plural(cents, small)}"
    return f"{cardinal(whole)} {plural(whole, big)} and {cardinal(cents)} {plural(cents, small)}"


def clock(hour, minute, rest=""):
    h, m = int(hour), int(minute)
    if m == 0:
        said = cardinal(h) + (" hundred" if h == 0 or h > 12 else " o'clock" if not rest else "")
        if h == 0:
            said = "zero hundred"
    else:
        said = cardinal(h) + (" oh " + ONES[m] if m < 10 else " " + cardinal(m))
    return said + rest


def _unit(value, unit):
    name = UNITS[unit.lower()]
    if value in ("1", "one"):
        name = SINGULAR.get(name, name[:-1] if name.endswith("s") else name)
    return name


def _date(day, month, the_year=""):
    said = f"{MONTHS[month]} {ordinal(day)}"
    return said + (f" {year(the_year)}" if the_year else "")


def _core(core, before, after):
    """The spoken form of one token without its outer punctuation; before and after are the neighbouring tokens, bare."""
    m = re.fullmatch(r"([$£€¥])(\d[\d,]*(?:\.\d+)?)(k|K|m|M|bn|B)?", core)
    if m:
        scale = {"k": "thousand", "m": "million", "bn": "billion", "b": "billion"}.get((m[3] or "").lower())
        return money(m[1], m[2], scale or (after if after in ("hundred", "thousand", "million", "billion", "trillion") else ""))
    m = re.fullmatch(r"(\d{1,2}):(\d\d)(?::(\d\d))?(am|pm|AM|PM)?", core)
    if m and int(m[2]) < 60:
        tail = " " + " ".join((m[4] or "").upper()) if m[4] else ""
        return clock(m[1], m[2], tail or (" " if re.fullmatch(r"(?i)[ap]\.?m\.?", after) else "")).strip()
    m = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", core)
    if m and 1 <= int(m[2]) <= 12 and 1 <= int(m[3]) <= 31:
        return _date(int(m[3]), int(m[2]) - 1, int(m[1]))
    m = re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{4}|\d\d)", core)
    if m and 1 <= int(m[1]) <= 12 and 1 <= int(m[2]) <= 31:
        full = int(m[3]) if len(m[3]) == 4 else 2000 + int(m[3])
        return _date(int(m[2]), int(m[1]) - 1, full)
    if re.fullmatch(r"\+?\d?[-. ]?\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}|\d{3}-\d{4}|\d{3}-\d{2}-\d{4}", core):
        return digits(core)
    m = re.fullmatch(r"(\d+)/(\d+)", core)
    if m and 0 < int(m[2]) < 100:
        top, bottom = int(m[1]), int(m[2])
        if bottom == 2:
            return cardinal(top) + (" half" if top == 1 else " halves")
        if bottom == 4:
            return cardinal(top) + (" quarter" if top == 1 else " quarters")
        return cardinal(top) + " " + ordinal(bottom) + ("" if top == 1 else "s")
    m = re.fullmatch(r"(\d+)(st|nd|rd|th)", core)
    if m:
        return ordinal(int(m[1]))
    m = re.fullmatch(r"(\d{4}|\d\d)s", core) or re.fullmatch(r"['’](\d\d)s", core)
    if m:
        said = year(int(m[1])) if len(m[1]) == 4 else cardinal(int(m[1]))
        return said[:-1] + "ies" if said.endswith("y") else said + "s"
    m = re.fullmatch(r"(\d[\d,]*(?:\.\d+)?)[-–—](\d[\d,]*(?:\.\d+)?)(%?)", core)
    if m:
        both = [year(int(x)) if re.fullmatch(r"1[1-9]\d\d|20\d\d", x) else number(x) for x in (m[1], m[2])]
        return f"{both[0]} to {both[1]}" + (" percent" if m[3] else "")
    m = re.fullmatch(r"([-−+]?)(\d[\d,]*(?:\.\d+)?|\.\d+)(%|°[CF]?|[A-Za-z/]+)?", core)
    if m and (not m[3] or m[3] == "%" or m[3].lower() in UNITS):
        plain = m[2]
        month = before.rstrip(".") in MONTHS or before.rstrip(".") in MONTH_SHORT
        if not m[3] and month and re.fullmatch(r"\d{1,2}", plain) and int(plain) in range(1, 32):
            said = ordinal(int(plain))
        elif not m[3] and re.fullmatch(r"1[1-9]\d\d|20\d\d", plain) and after.lower() not in (
                "dollars", "people", "meters", "miles", "feet", "pounds", "kilometers", "calories", "words", "steps", "times"):
            said = year(int(plain))
        elif not m[3] and before.lower() in ("room", "flight", "bus", "highway", "route") and re.fullmatch(r"\d{3}", plain):
            low = int(plain[1:])
            said = ONES[int(plain[0])] + (" hundred" if low == 0 else " oh " + ONES[low] if low < 10 else " " + cardinal(low))
        elif not m[3] and re.fullmatch(r"\d{5,}", plain) and before.lower() in ("code", "pin", "zip", "account", "order", "number", "serial"):
            said = digits(plain)
        else:
            said = number(plain)
        if m[1] in ("-", "−"):
            said = "minus " + said
        elif m[1] == "+":
            said = "plus " + said
        if m[3]:
            said += " percent" if m[3] == "%" else " " + _unit(plain, m[3])
        return said
    if re.fullmatch(r"(?:\d{1,3}\.){3}\d{1,3}|\d+\.\d+\.\d+", core):
        return " dot ".join(cardinal(int(x)) for x in core.split("."))
    if re.fullmatch(r"[A-Za-z0-9._-]+@[A-Za-z0-9.-]+\.[a-z]+|(?:www\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|edu|gov|io)(?:/\S*)?", core):
        parts = re.findall(r"[A-Za-z]+|\d+|[@./_-]", core)
        names = {"@": "at", ".": "dot", "/": "slash", "_": "underscore", "-": "dash", "www": "W W W", "io": "I O", "edu": "E D U"}
        return " ".join(names.get(p, cardinal(int(p)) if p.isdigit() and len(p) < 5 else digits(p) if p.isdigit() else p) for p in parts)
    if (core in UNITS or len(core) == 2 and core.lower() in UNITS) and re.search(r"\d$", before):
        return _unit(before, core)
    if core in ROMAN and before[:1].isupper():
        return ROMAN[core]
    if re.fullmatch(r"[A-Z]{2,6}", core) and core not in READ_AS_WORD and not core in ("OK",):
        return " ".join(core)
    if core == "OK":
        return "okay"
    m = re.fullmatch(r"([A-Z]{2,6})(['’]?s)", core)
    if m and m[1] not in READ_AS_WORD:
        return " ".join(m[1]) + "'s"
    m = re.fullmatch(r"([A-Za-z]+)-?(\d+)", core)
    if m:
        left = " ".join(m[1]) if m[1].isupper() and len(m[1]) < 4 else m[1]
        return left + " " + (number(m[2]) if len(m[2]) < 3 or m[2][0] != "0" else digits(m[2]))
    m = re.fullmatch(r"(\d+)-([A-Za-z].*)", core)
    if m:
        return number(m[1]) + "-" + m[2]
    if core in SYMBOLS:
        return SYMBOLS[core]
    core = re.sub(r"(?<=\w)&(?=\w)", " and ", core)
    core = re.sub(r"(?<=\w)/(?=\w)", " or " if re.fullmatch(r"and/or", core) else " ", core)
    return re.sub(r"\d+", lambda d: " " + number(d[0]) + " ", core).strip()


SCALE_WORDS = ("hundred", "thousand", "million", "billion", "trillion")


def tokens(text):
    """[(token, spoken with punctuation)] per white-space token. A token that its neighbour already says is spoken as ''."""
    raw = text.replace("’", "'").replace("‘", "'").split()
    bare = [re.sub(r"^[\"“”(\[{'«]+|[\"“”)\]}'»,;:!?…]+$", "", t) for t in raw]
    out = []
    for i, (token, core) in enumerate(zip(raw, bare)):
        before = bare[i - 1] if i else ""
        after = bare[i + 1] if i + 1 < len(raw) else ""
        lead = token[:token.find(core)] if core else token
        trail = token[token.find(core) + len(core):] if core else ""
        low = core.lower()
        if not core:
            out.append((token, token if token in ("...", "…") else "" if not re.search(r"[.,!?;:—]", token) else token))
            continue
        if i and re.fullmatch(r"[$£€¥]\d[\d,]*(?:\.\d+)?", before) and core.rstrip(".") in SCALE_WORDS:
            out.append((token, ("." if core.endswith(".") else "") + trail))      # "$3 million": the first token said it all
            continue
        is_abbreviation = low in ABBREVIATIONS
        if low in AFTER_NUMBER and not re.search(r"\d$", before):
            is_abbreviation = False
        if low in BEFORE_NUMBER and not re.match(r"\d", after):
            is_abbreviation = False
        if low in ("st.", "co.", "mt.", "gen.", "col.", "hon.", "est.") and not (core[0].isupper() and (after[:1].isupper() or before[:1].isupper())):
            is_abbreviation = False
        short = core.rstrip(".")
        if is_abbreviation:
            said = ABBREVIATIONS[low]
            if low == "st." and before[:1].isupper() and not after[:1].isupper():
                said = "street"
            if i + 1 == len(raw):
                trail = "." + trail
        elif core.endswith(".") and short in MONTH_SHORT and re.match(r"\d", after):
            said = MONTHS[MONTH_SHORT[short]]
        elif core.endswith(".") and short in DAY_SHORT and (short not in ("Sat", "Sun") or re.match(r"\d|and$|at$", after)):
            said = DAY_SHORT[short]
        elif re.fullmatch(r"[A-Z]\.", core) and i + 1 < len(raw):
            said = core[0]                                                       # an initial
        elif re.fullmatch(r"(?:[A-Za-z]\.){2,}", core):
            said = " ".join(core.replace(".", "").upper())
            if i + 1 == len(raw):
                trail = "." + trail
        else:
            dots = re.search(r"\.+$", core)
            if dots:
                core, trail = core[:dots.start()], dots[0] + trail
            said = _core(core, before, after.rstrip(".")) if core else ""
        out.append((token, lead.replace("(", "(") + said + trail))
    return out


def words(text):
    """Bare lower-case spoken words, for comparing what was heard with what was meant."""
    said = " ".join(s for _, s in tokens(text)).lower()
    said = said.replace("okay", "ok").replace("-", " ").replace("'", "").replace("’", "")
    return re.findall(r"[a-z]+", said)


if __name__ == "__main__":
    import sys

    for line in sys.stdin:
        print(" | ".join(s for _, s in tokens(line)))
