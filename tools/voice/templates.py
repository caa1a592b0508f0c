"""Sentences of our own for what free text collections lack: numbers, dates, times, prices, abbreviations, names, lists, short replies.

Every function takes a random.Random and returns one sentence as a person would type it. `KINDS` names the groups.
"""
import re

FIRST = ("Emma Olivia Noah Liam Sophia Mason Lucas Mia Ethan Ava James Charlotte Henry Amelia Daniel Grace Samuel Chloe David Hannah Michael Sarah "
         "Robert Anna Peter Alice George Linda Thomas Julia Martin Laura Kevin Nina Oscar Ruth Simon Clara Victor Rachel Omar Leila Carlos Maria "
         "Pedro Ingrid Sven Yuki Kenji Wei Priya Arjun Fatima Ahmed Nadia Ivan Olga Pierre Marie Hans Greta Paulo Lucia Diego Elena").split()
LAST = ("Smith Johnson Brown Taylor Miller Wilson Moore Anderson Jackson White Harris Martin Thompson Garcia Martinez Robinson Clark Lewis Lee "
        "Walker Hall Allen Young King Wright Scott Green Baker Adams Nelson Carter Mitchell Roberts Turner Phillips Campbell Parker Evans "
        "Edwards Collins Stewart Morris Rogers Reed Cook Morgan Bell Murphy Bailey Cooper Richardson Cox Howard Ward Peterson Gray Kim Patel "
        "Nguyen Chen Schmidt Rossi Silva Kowalski O'Brien McDonald").split()
CITIES = ("London Paris Berlin Madrid Rome Vienna Dublin Lisbon Oslo Prague Chicago Boston Seattle Denver Houston Atlanta Toronto Montreal Sydney "
          "Melbourne Tokyo Seoul Beijing Shanghai Mumbai Delhi Cairo Nairobi Lagos Istanbul Athens Moscow Warsaw Budapest Amsterdam Brussels "
          "Zurich Geneva Milan Barcelona Miami Dallas Phoenix Portland Austin Singapore Bangkok Jakarta Manila Havana Lima Bogota Santiago").split()
COUNTRIES = ("France Germany Spain Italy Austria Ireland Portugal Norway Sweden Finland Denmark Poland Greece Turkey Egypt Kenya Nigeria Morocco India China "
             "Japan Korea Vietnam Thailand Indonesia Australia Canada Mexico Brazil Argentina Chile Peru Colombia Cuba Iceland Scotland Switzerland Russia Ukraine").split()
MONTHS = "January February March April May June July August September October November December".split()
MONTHS_SHORT = "Jan. Feb. Mar. Apr. Jun. Jul. Aug. Sept. Oct. Nov. Dec.".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
FOODS = ("coffee, tea, milk, bread, butter, cheese, rice, soup, salad, chicken, fish, chocolate, sugar, salt, pepper, potatoes, tomatoes, onions, carrots, "
         "eggs, bananas, apples, oranges, grapes, cookies, pasta, honey, lemons, beans, mushrooms, garlic, olive oil, yogurt, cereal, orange juice").split(", ")
THINGS = ("book phone letter picture bottle bag hat coat chair table lamp clock watch key box cup plate knife spoon shirt ticket map camera computer guitar "
          "ball bicycle newspaper umbrella pencil mirror blanket pillow basket hammer ladder candle wallet ring rope package suitcase sandwich").split()
ADJ = ("big small new old good bad red blue green white black yellow heavy light fast slow cheap expensive beautiful strange simple difficult easy warm cold hot "
       "dark bright clean dirty dry wet quiet loud empty full soft strong happy sad tired hungry angry busy early important interesting boring "
       "dangerous safe funny serious famous wonderful terrible perfect special careful nervous proud gentle huge tiny broken modern ancient").split()
COLORS = "red blue green yellow black white brown purple orange pink gray silver".split()
ANIMALS = "dog cat horse cow bird mouse lion tiger elephant monkey rabbit snake bear wolf fox sheep pig duck frog spider whale turtle".split()
SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety".split()


def full_name(r):
    return f"{r.choice(FIRST)} {r.choice(LAST)}"


def hhmm(r):
    h, m = r.randint(1, 12), r.choice([0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, r.randint(0, 59)])
    return r.choice([f"{h}:{m:02d}", f"{h}:{m:02d} {r.choice(['a.m.', 'p.m.', 'AM', 'PM', 'am', 'pm'])}", f"{h} {r.choice(['a.m.', 'p.m.', 'AM', 'PM'])}",
                     f"{h}{r.choice(['am', 'pm'])}", f"{r.randint(0, 23)}:{m:02d}", f"{h} o'clock"])


def date(r):
    d, m, y = r.randint(1, 28), r.choice(MONTHS), r.choice([r.randint(1500, 2030), r.randint(1900, 2030), r.randint(1990, 2030)])
    suffix = "th" if 10 < d < 14 else {1: "st", 2: "nd", 3: "rd"}.get(d % 10, "th")
    return r.choice([f"{m} {d}", f"{m} {d}, {y}", f"{m} {d}{suffix}", f"{m} {d}{suffix}, {y}", f"the {d}{suffix} of {m}", f"{m} {y}", f"{r.choice(MONTHS_SHORT)} {d}",
                     f"{r.choice(DAYS)}, {m} {d}", f"{y}-{MONTHS.index(m) + 1:02d}-{d:02d}", f"{MONTHS.index(m) + 1}/{d}/{y}"])


def price(r):
    cents = r.choice(["", "", f".{r.randint(0, 99):02d}", ".99", ".50", ".95"])
    whole = r.choice([r.randint(1, 20), r.randint(1, 100), r.randint(100, 999), r.randint(1000, 9999)])
    sign = r.choice("$$$£€")
    return r.choice([f"{sign}{whole:,}{cents}", f"{sign}{whole}{cents}", f"{sign}{r.randint(1, 90)} {r.choice(['million', 'billion', 'thousand'])}",
                     f"{whole} dollars", f"{r.randint(2, 99)} cents"])


def quantity(r):
    n = r.choice([r.randint(1, 20), r.randint(1, 100), r.randint(100, 1000), r.randint(1000, 99999), f"{r.randint(0, 99)}.{r.randint(1, 99)}"])
    n = f"{n:,}" if isinstance(n, int) and r.random() < 0.7 else str(n)
    return r.choice([f"{n} km", f"{n} kg", f"{n} miles", f"{n} m", f"{n} cm", f"{n} pounds", f"{n}%", f"{n} percent", f"{n} people", f"{n} liters", f"{n} GB", f"{n} MB",
                     f"{n} minutes", f"{n} hours", f"{n} degrees", f"{r.randint(-30, 45)}°C", f"{r.randint(10, 110)}°F", f"{r.randint(20, 150)} mph", f"{n} steps", f"{n} ft.", f"{n} lbs."])


def plain_number(r):
    return r.choice([str(r.randint(0, 20)), str(r.randint(21, 99)), str(r.randint(100, 999)), f"{r.randint(1000, 999999):,}", str(r.randint(1000, 9999)), f"{r.randint(0, 99)}.{r.randint(0, 9)}",
                     f"{r.randint(1, 9)}.{r.randint(10, 99)}", f"{r.randint(1, 99)},{r.randint(0, 999):03d},{r.randint(0, 999):03d}"])


def nth(r):
    n = r.choice([r.randint(1, 12), r.randint(1, 31), r.randint(1, 120)])
    return f"{n}" + ("th" if 10 < n % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th"))


def phone(r):
    a, b, c = r.randint(200, 999), r.randint(200, 999), r.randint(0, 9999)
    return r.choice([f"{b}-{c:04d}", f"{a}-{b}-{c:04d}", f"({a}) {b}-{c:04d}", f"1-{a}-{b}-{c:04d}"])


def numbers(r):
    t = r.choice((
        "The meeting is at {t}.|The train leaves at {t}.|It's {t} now.|Wake me up at {t}.|Dinner starts at {t}, not at {t}.|We open at {t} and close at {t}.|"
        "She was born on {d}.|The contract was signed on {d}.|See you on {d}.|The deadline is {d}.|He died in {y} at the age of {a}.|The war ended in {y}.|In {y}, about {q} were sold.|"
        "Between {y} and {y}, prices doubled.|It costs {p}.|That will be {p}, please.|I paid {p} for this {thing}.|The {thing} was {p}, but now it is {p}.|The total is {p}.|He owes me {p}.|"
        "The distance is {q}.|It weighs {q}.|We need {q} more.|About {q} were left.|The answer is {n}.|Add {n} and {n}.|{n} plus {n} is {n}.|{n} times {n} equals {n}.|Is it more than {n}?|"
        "There are {n} of them.|Chapter {a}, page {n}.|Turn to page {a}.|Room {room}, please.|Flight {room} is delayed.|Take bus {a} to {city}.|He lives at {a} {last} Street.|"
        "She finished {o}.|This is the {o} time.|He was the {o} person in line.|The {o} of {month} is a {day}.|My number is {phone}.|Call {phone} for help.|Press {dig} for more options.|"
        "The code is {code}.|Your PIN is {code4}.|The temperature is {q}.|{a}% of the people agreed.|It grew by {pc}% last year.|Only {dig} out of {a} passed the test.|Mix {frac} cup of sugar with {frac} cup of milk.|"
        "The ratio is {dig} to {dig}.|Version {dig}.{dig} is ready.|Count from {dig} to {a}.|{a}, {a}, {a}.|{dig}, {dig}, {dig}, {dig}.|The score was {dig} to {dig}.|The {dec}s were a good time.|"
        "It takes {a}-{b} minutes.|He is {a} years old.|A {a}-year-old woman won the race.|We sold {n} units in {y}.|The file has {n} lines.|{first} scored {a} points.|Set a timer for {a} minutes.|"
        "Remind me at {t} on {day}.|The population of {city} is {n}.|Set the volume to {a}%.|Set the temperature to {a} degrees.|Interest rates rose from {pc}% to {pc}%.|Open from {t} to {t}.").split("|"))
    fill = {"t": hhmm, "d": date, "p": price, "q": quantity, "n": plain_number, "o": nth, "phone": phone, "y": lambda r: str(r.choice([r.randint(1066, 2030), r.randint(1800, 2030), r.randint(1950, 2030)])),
            "a": lambda r: str(r.randint(10, 99)), "b": lambda r: str(r.randint(100, 120)), "dig": lambda r: str(r.randint(0, 9)), "room": lambda r: str(r.randint(101, 999)),
            "code": lambda r: str(r.randint(10000, 999999)), "code4": lambda r: f"{r.randint(0, 9)} {r.randint(0, 9)} {r.randint(0, 9)} {r.randint(0, 9)}", "pc": lambda r: f"{r.randint(0, 30)}.{r.randint(0, 9)}",
            "frac": lambda r: r.choice(["1/2", "1/3", "2/3", "1/4", "3/4", "1/8"]), "dec": lambda r: str(r.choice(range(1900, 2020, 10))), "city": lambda r: r.choice(CITIES),
            "thing": lambda r: r.choice(THINGS), "last": lambda r: r.choice(LAST), "first": lambda r: r.choice(FIRST), "month": lambda r: r.choice(MONTHS), "day": lambda r: r.choice(DAYS)}
    return re.sub(r"\{(\w+)\}", lambda m: fill[m[1]](r), t)


def written_numbers(r):
    """The same in words, as careful writers spell them."""
    import spoken

    text = numbers(r)
    said = " ".join(s for _, s in spoken.tokens(text) if s)
    said = re.sub(r"\b([AP]) M\b", r"\1M", said)
    return re.sub(r" ([,.?!;:])", r"\1", said[:1].upper() + said[1:])


def abbreviations(r):
    f, l, l2, c = r.choice(FIRST), r.choice(LAST), r.choice(LAST), r.choice(CITIES)
    return r.choice([
        f"Mr. {l} is on the phone.", f"Mrs. {l} called this morning.", f"Ms. {l} will be late.", f"Dr. {l} can see you now.", f"Prof. {l} teaches history.", f"Mr. and Mrs. {l} live in {c}.",
        f"Is Dr. {l} in the office today?", f"Please ask Mr. {l} or Ms. {l2}.", f"St. {f} is a small town.", f"He lives on {l} St. in {c}.", f"Turn left on {l} Ave., then right.",
        f"Bring pens, paper, etc.", f"Use a fruit, e.g., an apple.", f"The capital, i.e., {c}, is far away.", f"{l} vs. {l2} was a famous case.", f"The U.S. and the U.K. agreed.", f"{f} works for the FBI.",
        f"The CEO of {l} Inc. resigned.", f"She has a PhD from {c}.", f"I watched it on TV.", f"The CPU and the GPU are busy.", f"My PC has a new SSD.", f"Send me the PDF by e-mail.", f"The USB port is broken.",
        f"{f} {l} Jr. arrived first.", f"{l} & {l2} Ltd. is a law firm.", f"NASA launched a new rocket.", f"Ask the HR department.", f"Check the FAQ first.", f"The API returns JSON.", f"Write to {f.lower()}@example.com.",
        f"Visit www.{l.lower().replace(chr(39), '')}.com for details.", f"Our website is {c.lower()}.org.", f"It opens on Mon. and Wed. only.", f"J. {l} wrote the book.", f"{f} B. {l} is the author.", f"OK, {f}, see you at HQ.",
        f"The DJ played until 4 a.m.", f"He moved to L.A. from D.C. last year.", f"The EU and the UN met in {c}.", f"It is approx. {r.randint(2, 90)} miles away.", f"Capt. {l} and Sgt. {l2} saluted.", f"The ID number is missing.",
    ])


def names(r):
    f, f2, n, n2, c, c2, k = r.choice(FIRST), r.choice(FIRST), full_name(r), full_name(r), r.choice(CITIES), r.choice(CITIES), r.choice(COUNTRIES)
    return r.choice([
        f"My name is {n}.", f"This is {n} from {c}.", f"{f} and {f2} are moving to {c}.", f"Have you met {n}?", f"{n} was born in {c}.", f"I spoke to {n} yesterday.", f"{f} flew from {c} to {c2}.",
        f"Good morning, {f}.", f"Thank you, {f}!", f"Where is {f}?", f"{f}, {f2}, and {r.choice(FIRST)} are here.", f"Call {n}, please.", f"{n} and {n2} won the prize.", f"Have you ever been to {k}?",
        f"{f} comes from {k}, but lives in {c}.", f"The flight to {c} is full.", f"Is {c} in {k}?", f"{c} is colder than {c2}.", f"We drove through {k} and {r.choice(COUNTRIES)}.", f"A letter from {n} arrived.", f"{f}'s sister works in {c}.",
        f"Ladies and gentlemen, please welcome {n}!", f"Dear {f}, thank you for your letter.", f"Hi, {f}, how are you?", f"Play something by {n}.", f"What is the weather like in {c}?", f"What time is it in {c}?",
    ])


def lists(r):
    foods, things, colors = r.sample(FOODS, 4), r.sample(THINGS, 4), r.sample(COLORS, 4)
    text = r.choice([
        f"We need {foods[0]}, {foods[1]}, and {foods[2]}.", f"Buy {foods[0]}, {foods[1]}, {foods[2]} and {foods[3]}.", f"The colors are {colors[0]}, {colors[1]}, {colors[2]}, and {colors[3]}.",
        f"I packed a {things[0]}, a {things[1]}, and a {things[2]}.", f"{foods[0].capitalize()}, {foods[1]}, {foods[2]}.", f"You can have {foods[0]}, {foods[1]}, or {foods[2]}.", f"First the {things[0]}, then the {things[1]}, and finally the {things[2]}.",
        f"We saw a {r.choice(ANIMALS)}, two birds, and a {r.choice(ANIMALS)}.", f"{r.choice(DAYS)}, {r.choice(DAYS)}, and {r.choice(DAYS)}.", f"{r.choice(MONTHS)}, {r.choice(MONTHS)}, {r.choice(MONTHS)}.", f"Ingredients: {foods[0]}, {foods[1]}, {foods[2]}.",
        f"{', '.join(r.sample(SMALL, 4)).capitalize()}.", f"It is {r.choice(ADJ)}, {r.choice(ADJ)}, and {r.choice(ADJ)}.", f"There were three things on the table: a {things[0]}, a {things[1]}, and a {things[2]}.", f"1. {foods[0]}, 2. {foods[1]}, 3. {foods[2]}.",
    ])
    return re.sub(r"\ba (?=elephant|umbrella|[aeio])", "an ", text)


REPLIES = (
    "Hello.|Hi.|Hi there.|Hey!|Good morning.|Good afternoon.|Good evening.|Good night.|Goodbye.|Bye.|See you later.|See you tomorrow.|Thank you.|Thanks.|Thanks a lot.|You're welcome.|Excuse me.|I'm sorry.|Sorry.|No problem.|"
    "Of course.|Yes.|No.|Yes, please.|No, thank you.|Okay.|OK.|All right.|Sure.|Maybe.|Perhaps.|Never.|Always.|Sometimes.|Right.|Wrong.|Exactly.|Absolutely.|Definitely.|Really?|Why?|Why not?|How?|When?|Where?|Who?|What?|Which one?|"
    "How much?|How many?|Stop.|Stop!|Go.|Wait.|Wait!|Help!|Look!|Listen.|Careful!|Hurry!|Quiet, please.|Come in.|Sit down.|Stand up.|Go ahead.|Go away.|Come here.|Be careful.|Watch out!|Great.|Great!|Wonderful!|Perfect.|Excellent.|"
    "Fantastic!|Congratulations!|Good luck!|Cheers.|Welcome.|Welcome back.|Please.|Please wait.|One moment, please.|Just a second.|Not yet.|Not now.|Right now.|Me too.|So do I.|I agree.|I don't know.|I don't care.|I think so.|I hope so.|I see.|"
    "Got it.|Understood.|Done.|Ready.|Are you ready?|Let's go.|Let's eat.|What's up?|What happened?|Who is it?|Where are you?|How are you?|I'm fine.|I'm here.|I'm hungry.|I'm tired.|It's late.|It's cold.|It's raining.|It's over.|That's all.|"
    "That's right.|That's fine.|Nice to meet you.|Have a nice day.|Take care.|Happy birthday!|Merry Christmas!|Happy new year!|Today.|Tomorrow.|Yesterday.|Tonight.|Now.|Later.|Soon.|Again.|Left.|Right turn.|Straight ahead.|Up.|Down.|In.|Out.|"
    "On.|Off.|Open.|Closed.|Start.|Play.|Pause.|Next.|Previous.|Back.|Home.|Menu.|Search.|Send.|Cancel.|Delete.|Save.|Undo.|Continue.|Repeat.|Louder.|Softer.|Faster.|Slower.|Test.|Testing.|Testing, one, two, three.|Error.|Warning.|Success.|"
    "Loading.|Connected.|Disconnected.|Battery low.|Message sent.|New message.|No results.|Try again.|Please try again.|Something went wrong.|Hello world.|Hello, world!|True.|False.|Nothing.|Everything.|Nobody.|Everyone.|Here.|There.|Far away.|"
    "Oh.|Oh, no!|Ah.|Hmm.|Well.|Wow!|Oops.|Ouch!|Hooray!|Amen.|Indeed.|Certainly.|Naturally.|Unfortunately.|Fortunately.|Finally.|Suddenly.|Anyway.|However.|Meanwhile.|This is a test.|Can you hear me?|How can I help you?|Is anybody there?|"
    "The quick brown fox jumps over the lazy dog.|Speak up.|Slow down.|Keep going.|Never mind.|Forget it.|My pleasure.|After you.|Not bad.|Too bad.|Good idea.|Good question.|What a day!|What time is it?|Where to?|Who knows?").split("|")


def replies(r):
    pick = r.random()
    if pick < 0.6:
        return r.choice(REPLIES)
    word = r.choice([r.choice(FIRST), r.choice(CITIES), r.choice(COUNTRIES), r.choice(MONTHS), r.choice(DAYS), r.choice(THINGS).capitalize(), r.choice(FOODS).capitalize(), r.choice(ADJ).capitalize(), r.choice(COLORS).capitalize(),
                     r.choice(ANIMALS).capitalize(), str(r.randint(0, 100)), str(r.randint(101, 2000)), r.choice(SMALL).capitalize(), nth(r), price(r), hhmm(r)])
    return word + r.choice([".", ".", ".", "", "?", "!"])


def everyday(r):
    """Plain sentences in which frequent words meet in many combinations."""
    person = r.choice("My brother|My sister|My mother|My father|My friend|The teacher|The doctor|Our neighbor|His wife|Her husband|My uncle|The boss|The driver|The student|The waiter|The nurse|The young man|The old woman|Somebody|Nobody|Everyone".split("|") + FIRST[:20])
    place = r.choice("kitchen|garden|office|school|hospital|library|station|airport|hotel|restaurant|market|museum|park|beach|village|city|church|bridge|river|forest|island|farm|bank|theater|store|street|bathroom|bedroom|basement|factory|harbor|castle|lake|post office|parking lot".split("|"))
    act = r.choice("read a book|watch a movie|play football|go swimming|learn English|listen to music|take a walk|cook dinner|clean the house|do my homework|visit my parents|call you later|go shopping|play the piano|take a picture|write a letter|work in the garden|drink some tea|take the bus|have lunch together|see the doctor|stay at home|get some sleep|ask a question|make a plan|tell the truth|change my mind|save some money|pay the bill|catch the train|wash the dishes|feed the cat|walk the dog|learn how to drive|fix the computer|paint the wall|open a window|turn off the light|send an email|check the weather".split("|"))
    when = r.choice("today|tomorrow|tonight|this evening|next week|next month|next year|soon|on Monday|on Saturday|in the summer|after school|before dinner|after work|later|in a few minutes|in an hour|this weekend".split("|"))
    past = r.choice("yesterday|last night|last week|last month|last year|two days ago|a long time ago|this morning|on Friday|three hours ago|last summer".split("|"))
    feel = r.choice("happy|sad|tired|hungry|angry|busy|ready|late|nervous|proud|lonely|thirsty|sleepy|excited|surprised|worried|sick|fine|better|sure|sorry|glad|afraid|lucky|bored|confused".split("|"))
    weather = r.choice("sunny|cloudy|rainy|windy|foggy|snowy|cold|hot|warm|humid|stormy".split("|"))
    subject = r.choice("computer|system|server|network|program|message|file|voice|model|password|account|website|screen|button|battery|keyboard|software|update|download|recording|microphone|device|robot|assistant|language|sentence|answer|result|test|problem|project|report|schedule|service|order|payment|address|question".split("|"))
    adj, adj2, thing, food, food2 = r.choice(ADJ), r.choice(ADJ), r.choice(THINGS), r.choice(FOODS), r.choice(FOODS)
    s = r.choice([
        f"I would like some {food}, please.", f"Do you like {food}?", f"There is no {food} left.", f"{person} is in the {place}.", f"{person} went to the {place} {past}.", f"Where is the {place}?", f"How do I get to the {place}?", f"The {place} is very {adj}.",
        f"I lost my {thing} in the {place}.", f"{person} gave me a {adj} {thing}.", f"Have you seen my {thing}?", f"Put the {thing} in the {place}, please.", f"I want to {act} {when}.", f"Would you like to {act} with me?", f"I can't {act} {when}.", f"Let's {act} {when}.",
        f"I have to {act} {when}.", f"It is time to {act}.", f"I forgot to {act} {past}.", f"{person} is very {feel}.", f"Are you {feel}?", f"Why are you so {feel}?", f"It is {weather} in {r.choice(CITIES)}.", f"The weather will be {weather} {when}.", f"The {subject} is not working.",
        f"Please check the {subject} again.", f"The {subject} is ready.", f"I have a question about the {subject}.", f"Your {subject} has been saved.", f"What is wrong with the {subject}?", f"How does this {subject} work?", f"This is a {adj} {subject}.", f"If it is {weather}, we will {act}.",
        f"When {person[0].lower() + person[1:] if person.split()[0] in ('My', 'The', 'Our', 'His', 'Her', 'Somebody', 'Nobody', 'Everyone') else person} came home, it was already dark.", f"Although I was {feel}, I went to the {place}.", f"{person} said that the {thing} was {adj}.", f"The {adj} {thing} is better than the {adj2} one.", f"A {adj} {r.choice(ANIMALS)} crossed the street.",
        f"The {food} tastes {r.choice(['good', 'strange', 'better than the ' + food2, 'wonderful', 'terrible'])}.", f"{person} bought {food} and {food2}.", f"Don't touch the {thing}!", f"Could you bring me the {adj} {thing}?", f"Is there a {place} near here?", f"I left the {thing} on the {r.choice(['table', 'chair', 'floor', 'bed', 'desk', 'shelf'])}.",
    ])
    s = re.sub(r"\b([Aa]) ([aeiou])", r"\1n \2", s).replace("an uni", "a uni")
    return s[0].upper() + s[1:]


KINDS = {"numbers": numbers, "written_numbers": written_numbers, "abbreviations": abbreviations, "names": names, "lists": lists, "replies": replies, "templates": everyday}
