"""Text as written -> words as spoken: numbers, dates, times, prices, abbreviations, units and initialisms of everyday English.

`tokens(text)` returns one entry per white-space token of the text, [(token, spoken)], where spoken keeps the punctuation that the
teacher's prosody needs; `words(text)` returns the bare lower-case words (the judge compares these on both sides). `said(text)` is
what the talker reads: the same as a text, after signs of which the corpus has none were taken for others or left out. The program
does that as well (internal/normalize), so `python spoken.py --golden < texts` makes what its test compares with.
"""
import re
import unicodedata

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


# Signs that become others before anything is read; what has no sound is left out.
FOLDED = {
    "‘": "'", "’": "'", "‚": "'", "‛": "'", "′": "'", "ʼ": "'", "`": "'", "´": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "«": '"', "»": '"', "″": '"',
    "‐": "-", "‑": "-", "–": "—", "―": "—", "−": "-", "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D",
    "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ı": "i", "×": " x ", "÷": " divided by ", "№": "no. ", "•": " ", "·": " ", "™": "", "®": "", "©": "", "¿": "", "¡": "",
    "℃": "°C", "℉": "°F", "¢": " cents", "²": " squared", "³": " cubed",
}
FRACTIONS = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5", "⅘": "4/5", "⅙": "1/6", "⅚": "5/6", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8"}
# Combining accents, variation selectors, joiners and other signs of layout, skin tones, tags; soft hyphen and byte order mark.
DROPPED = re.compile("[\u00ad\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]")
# Words that are short enough to be taken for initials when they are written in capitals.
SHORT_WORDS = set("""A AM AN AND ANY ARE AS ASK AT BAD BE BED BIG BOX BOY BUS BUT BUY BY CAN CAR CAT CRY CUP CUT DAY DID DO DOG EAR EAT EGG END EYE FAR FEW FLY FOR FUN GET GO GOD GOT GUY
    HAD HAS HAT HE HER HEY HI HIM HIS HIT HOT HOW I ICE IF IN IS IT ITS JOB JOY KEY KID LAW LAY LEG LET LIE LOT LOW MAD MAN MAP MAY ME MEN MET MOM MY NEW NO NOR NOT NOW OF OFF OH OIL
    OLD ON ONE OR OUR OUT OWN PAY PUT RAN RED RUN SAD SAT SAW SAY SEA SEE SET SHE SIT SIX SKY SO SON SUN TAX TEA TEN THE TIE TO TOO TOP TRY TWO UP USE VAN WAR WAS WAY WE WET WHO WHY WIN
    WON YES YET YOU""".split())


# What tokens reads otherwise than people do: whole tokens, then patterns (the first that fits).
READINGS = {"24/7": "24 7", "50/50": "50 50", "9/11": "9 11", "AT&T": "A T and tee", "C++": "C plus plus", "C#": "C sharp", "F#": "F sharp", "and/or": "and or", "And/or": "And or"}
AMOUNT = r"\d[\d,]*(?:\.\d+)?"
PATTERNS = [(re.compile(p), r) for p, r in (
    (r"#(\d.*)", r"number \1"), (r"#([A-Za-z].*)", r"\1"), (r"@([A-Za-z].*)", r"at \1"), (r"~([$£€¥]?\d.*)", r"about \1"),
    (r"v(\d+(?:\.\d+)+)", r"v \1"), (r"(\d+(?:st|nd|rd|th))[-—](\d+(?:st|nd|rd|th))", r"\1 to \2"),
    (r"(\d{1,2}:[0-5]\d):0?([1-9]|[1-5]\d)", r"\1 and \2 seconds"), (r"(\d+):(\d|[6-9]\d|\d{3,})", r"\1 to \2"),
    (r"US(\$\d.*)", r"\1"), (r"([$£€¥])(\.\d+)", r"\g<1>0\2"), (f"({AMOUNT})([$£€¥])", r"\2\1"), (r"-([$£€¥]\d.*)", r"minus \1"),
    (f"([$£€¥])({AMOUNT})[-—][$£€¥]?({AMOUNT}[kKmMB]?)", r"\1\2 to \1\3"), (f"([$£€¥]{AMOUNT})/([a-z]+)", r"\1 a \2"), (f"([$£€¥]?{AMOUNT}[kKmMB%]?)\\+", r"\1 plus"),
    (r"https?://(?:www\.)?(.+?)/?", r"\1"), (r"(\d{1,2}/\d{1,2})/([5-9]\d)", r"\1/19\2"),
)]
SIGNS = {"x": " by ", "*": " times ", "+": " plus ", "=": " equals "}
COINS = {"$": "dollars", "£": "pounds", "€": "euros", "¥": "yen"}
# Words with a Roman number behind them that is no king's.
NUMBERED = {"act", "appendix", "article", "book", "bowl", "chapter", "class", "division", "level", "mark", "part", "phase", "scene", "section", "stage", "title", "type", "unit",
            "vatican", "volume", "war"}
NUMERALS = {n: i for i, n in enumerate("II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX".split(), 2)}
# A full stop is the end of a sentence too if one of STARTERS follows, but not behind what stands before a name or a word.
STARTERS = set("The He She It They We You I This That These Those There Then But And So If When What Where Why How His Her My Our Their".split())
NEVER_LAST = {"mr.", "mrs.", "ms.", "dr.", "prof.", "gov.", "gen.", "capt.", "lt.", "sgt.", "col.", "rev.", "hon.", "mt.", "vs.", "e.g.", "i.e.", "approx."}


def fold(text):
    """text with the signs that the corpus knows: plain quotes and dashes, letters without accents, one kind of white space and of digits."""
    out = ""
    for c in text:
        if c in FOLDED:
            c = FOLDED[c]
        elif c in FRACTIONS:
            c = (" and " if out[-1:].isdecimal() else "") + FRACTIONS[c]
        elif ord(c) > 127:
            base = unicodedata.normalize("NFD", c)[0]
            if DROPPED.match(c):
                c = ""
            elif base.isascii() and base.isalpha():
                c = base
            elif c.isspace():
                c = " "
            elif c.isdecimal():
                c = str(int(c))
            elif unicodedata.category(c) == "So" and c != "°":
                c = " "                                    # emoji and other pictures
        out += c
    return out


def _capitals(core):
    """Whether a word in capitals is read as a word: not what is too short or has no vowel behind its first letter."""
    return len(core) > 1 and core not in NUMERALS and (core in SHORT_WORDS or core in READ_AS_WORD or len(core) > 3 and re.search(r"[AEIOUY]", core[1:]) is not None)


def _plain(raw):
    """White-space tokens without marks of emphasis, headings and lists."""
    out = []
    for i, token in enumerate(raw):
        if re.fullmatch(r"[*_~]+|#{1,6}|[-+>|]|={2,}|-{2,}", token):
            numbers = i and i + 1 < len(raw) and re.search(r"\d$", raw[i - 1]) and re.match(r"\d", raw[i + 1])
            if token[0] == "-" and out and not out[-1].endswith(("—", ".", ":", "!", "?", ",", ";")):
                out.append("—")                            # a dash inside of a sentence is a pause
            elif token == "+" and out or token in ("*", ">") and numbers:
                out.append(token)
            continue
        token = re.sub(r"^'(?=\d\ds)", "", token)
        out.append(re.sub(r"^(?!~[$£€¥]?\d)[*_~]+(?=.)|(?<=.)[*_~]+(?=[.,;:!?\"')]*$)", "", token))
    return out


def _reading(core, before):
    """core, a token without its outer punctuation, as people read it where the frozen tokens() does not; may be several tokens."""
    if core in READINGS:
        return READINGS[core]
    if core in NUMERALS:
        if before.lower() in NUMBERED:
            return str(NUMERALS[core])
        if core not in ROMAN and len(core) > 1 and before[:1].isupper():
            return "the " + ordinal(NUMERALS[core])
    if re.search(r"\d$", before):
        if core in ("W", "V", "L"):
            return core.lower()
        if core in COINS:
            return COINS[core]
        if re.fullmatch(r"\d{1,2}", before) and re.fullmatch(r"\d+/\d+", core):
            return "and " + core                           # 1 1/2
    if re.fullmatch(r"\d[\d,]*(?:st|nd|rd|th)", core):
        return core.replace(",", "")
    if re.fullmatch(r"\d+(?:\.\d+)?(?:[x*+=]\d+(?:\.\d+)?)+", core):
        return re.sub(r"[x*+=]", lambda m: SIGNS[m[0]], core)
    m = re.fullmatch(r"([A-Z]{4,})-?(\d+)", core)
    if m and _capitals(m[1]):
        return m[1][0] + m[1][1:].lower() + "-" + m[2]     # COVID-19
    for pattern, reading in PATTERNS:
        if pattern.fullmatch(core):
            return pattern.fullmatch(core).expand(reading)
    return core


def _readings(raw):
    """Tokens with _reading: ~5, #1, @home, 24/7, 1 1/2, World War II, $5-$10, https://example.com/."""
    out = []
    for token in raw:
        link = re.sub(r"\]\((?:https?:|www\.|mailto:|[/#])[^()]*\)", "", token)
        token = token if link == token else re.sub(r"!?\[", "", link, count=1)  # [text](address)
        m = re.fullmatch(r"(.*?)([)\]}\"']+)\.", token)
        if m and re.search(r"[A-Z\d]", token):                                   # tokens looks for closing signs behind a full stop only
            token = m[1] + ("" if m[1].endswith((".", "!", "?", "…")) else ".") + m[2]
        lead, core, trail = re.fullmatch(r"([\"'(\[{]*)(.*?)([.,;:!?\"')\]}…]*)", token).groups()
        out += (lead + _reading(core, out[-1] if out else "") + trail).split()
    return out


def _lower(token):
    """A word in capitals that is no initials, as a word that begins with one."""
    letters = re.sub(r"[^A-Za-z]+", "", token.removesuffix("'s"))
    short = re.fullmatch(r"[\"(\[]*[A-Z]+'[A-Z]{1,2}[.,;:!?\")\]…]*", token)     # DON'T
    if short or letters.isupper() and token.replace(letters, "", 1).strip("\"'()[].,;:!?…—") in ("", "s") and "." not in token[:-1] and _capitals(letters):
        return re.sub(r"^[\"'(\[]*[a-z]", lambda m: m[0].upper(), token.lower())
    return token


def _starts(token):
    """Whether the token begins a sentence wherever it stands."""
    m = re.match(r"[\"'(\[]*([A-Za-z]+)", token)
    return m and m[1] in STARTERS and not token.endswith("I.")


def said(text, capitals=True):
    """What the talker reads for text: words in place of numbers and signs, with the punctuation of the text. With capitals, longer words in
    capitals are words and no initials, and more is read as people do; the teacher read that otherwise, so that training goes without."""
    raw = _plain(fold(text).split())
    if capitals:
        raw = [_lower(token) for token in _readings(raw)]
    out = ""
    for i, (token, words_) in enumerate(tokens(" ".join(raw))):
        before, after = raw[i - 1] if i else "", raw[i + 1] if i + 1 < len(raw) else ""
        words_ = re.sub(r"\s+", " ", words_).strip()
        month = token.removesuffix(",")
        if capitals and month in MONTH_SHORT and (re.match(r"\d", after) and month == token or re.fullmatch(r"\d{1,2}", before)):
            words_ = MONTHS[MONTH_SHORT[month]] + token[len(month):]
        ends = not after or capitals and _starts(after) and token.strip("\"'()[]").lower() not in NEVER_LAST
        if ends and token.rstrip("\"')").endswith(".") and words_ and not words_.rstrip("\"')").endswith((".", "!", "?", "…")):
            words_ += "."
        if not words_:
            continue
        begins = re.match(r"[\"'(\[]*[A-Z]", token) and not words_.startswith("the ") or not out and re.match(r"[\"'(\[$£€]*\d", token)
        if begins and words_[0].islower():
            words_ = words_[0].upper() + words_[1:]
        out += words_ if not out or re.match(r"[.,;:!?…]", words_) else " " + words_
    return out


if __name__ == "__main__":
    import json
    import sys

    for line in sys.stdin:
        line = line.rstrip("\n")
        written = line.replace("\\n", "\n").replace("\\t", "\t")               # a golden text may have line ends
        print(json.dumps([written, said(written)], ensure_ascii=False) if "--golden" in sys.argv[1:] else " | ".join(s for _, s in tokens(line)))
