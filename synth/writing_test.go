package synth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// knowing returns the writing of a checkpoint that knows languages, named with spaces.
func knowing(languages string) *writing {
	ids := map[string]int{}
	for i, name := range strings.Fields(languages) {
		ids[name] = i
	}
	return writingOf(ids)
}

// published are the languages of the published checkpoints.
const published = "chinese english french german italian japanese korean portuguese russian spanish"

// TestWriting: what is refused, and in which words.
func TestWriting(t *testing.T) {
	const speaksEnglish = "; this checkpoint speaks English only"
	for name, c := range map[string]struct{ languages, text, refused string }{
		"English":                 {"english", "Hello there, how are you?", ""},
		"accents":                 {"english", "Où est-il — naïve café? Żółć, Tiếng Việt, ŉ, ẞ.", ""},
		"decomposed accents":      {"english", "e\u0301e\u0302e\u0308 n\u0303", ""},
		"Chinese":                 {"english", "你好，今天", `"你好，今天" is in Han script` + speaksEnglish},
		"Russian":                 {"english", "Привет, мир!", `"Привет, мир!" is in Cyrillic script` + speaksEnglish},
		"Arabic":                  {"english", "مرحبا بالعالم", "is in Arabic script" + speaksEnglish},
		"Arabic with vowels":      {"english", "اللُّغَةُ", "is in Arabic script" + speaksEnglish},
		"Hebrew":                  {"english", "שלום", "is in Hebrew script" + speaksEnglish},
		"Hindi":                   {"english", "स्वागत है", "is in Devanagari script" + speaksEnglish},
		"Thai":                    {"english", "สวัสดี", "is in Thai script" + speaksEnglish},
		"Korean":                  {"english", "안녕하세요", "is in Hangul script" + speaksEnglish},
		"decomposed Korean":       {"english", "\u1112\u1161\u11ab", "is in Hangul script" + speaksEnglish},
		"Japanese":                {"english", "こんにちは、世界！", `"こんにちは、世界！" is mostly in Hiragana script` + speaksEnglish},
		"half-width Katakana":     {"english", "ｱｲｳ", "is in Katakana script" + speaksEnglish},
		"as much of both":         {"english", "אב ду", `"אב ду" is mostly in Cyrillic script` + speaksEnglish},
		"two words":               {"english", "Inuktitut: ᐃᓄᒃᑎᑐᑦ ᐃᓄᒃᑎᑐᑦ", "is mostly in Canadian Aboriginal script" + speaksEnglish},
		"beyond 16 bits":          {"english", "𠀀𪛖", "is in Han script" + speaksEnglish},
		"long":                    {"english", strings.Repeat("中", 50), `"` + strings.Repeat("中", 40) + `…" is in Han script` + speaksEnglish},
		"over lines":              {"english", "你\n好", `"你\n好" is in Han script` + speaksEnglish},
		"one word":                {"english", "Да", "is in Cyrillic script" + speaksEnglish},
		"foreign with a number":   {"english", "2024年12月31日", `"2024年12月31日" is in Han script` + speaksEnglish},
		"foreign with an emoji":   {"english", "😄 да 😄", "is in Cyrillic script" + speaksEnglish},
		"foreign with a quote":    {"english", "Слово \"word\" означает", `"Слово \"word\" означает" is mostly in Cyrillic script` + speaksEnglish},
		"homoglyphs throughout":   {"english", "сосо", "is in Cyrillic script" + speaksEnglish},
		"homoglyphs within":       {"english", "Please pаy thе bill.", ""},
		"a city":                  {"english", "I love 東京 in spring", ""},
		"a name of two letters":   {"english", "Li 李", ""},
		"half":                    {"english", "abcd 東京", ""},
		"more than half":          {"english", "abc 東京", "is mostly in Han script" + speaksEnglish},
		"signs with a long word":  {"english", "请打开 Bluetooth 设置", "is mostly in Han script" + speaksEnglish},
		"Greek":                   {"english", "Γειά σου", "is in Greek script" + speaksEnglish},
		"decomposed Greek":        {"english", "μο\u0301", "is in Greek script" + speaksEnglish},
		"Greek symbols alone":     {"english", "± 5 μ, 10 Ω, π ≈ 3.14", ""},
		"a Greek letter":          {"english", "Σ", ""},
		"Greek symbols":           {"english", "The angle θ is π over 2, at 5 µm and 3 kΩ.", ""},
		"symbols of no script":    {"english", "5 µm ℵ 𝐀", ""},
		"numbers":                 {"english", "1984", ""},
		"numbers of others":       {"english", "٣ १ 〇 ½ Ⅷ ① ５", ""},
		"Hangul that is not seen": {"english", "Hi\u3164\u3164\u3164\u115f", ""},
		"zero width":              {"english", "a\u200bb\u200dc\u2060\u00ad\ufeff", ""},
		"full-width Latin":        {"english", "Ｈｅｌｌｏ", ""},
		"emoji":                   {"english", "ok 👨‍👩‍👧‍👦 🏳️‍🌈 🇩🇪", ""},
		"marks only":              {"english", "\u0301\u064b\u0941", ""},

		"several in one script":     {"english german", "да", "this checkpoint speaks English and German only"},
		"several in several":        {"russian english chinese", "Γειά", "Greek script; this checkpoint speaks Chinese, English and Russian only"},
		"Chinese and English":       {"chinese english", "你好 there", ""},
		"a dialect":                 {"english sichuan_dialect", "你好", ""},
		"a dialect is Chinese":      {"english beijing_dialect", "да", "this checkpoint speaks Chinese and English only"},
		"Japanese of a Japanese":    {"japanese", "東京タワーは333メートルです", ""},
		"Korean of a Japanese":      {"japanese", "안녕", "this checkpoint speaks Japanese only"},
		"Korean with Han":           {"korean", "大韓民國 만세", ""},
		"Latin of a Russian":        {"russian", "OK, iPhone", ""},
		"an unknown language":       {"english hindi", "你好", ""},
		"an unknown dialect":        {"english hakka_dialect", "да", ""},
		"no languages":              {"", "你好", ""},
		"all published ones":        {published, "مرحبا", ""},
		"all, with dialects":        {published + " beijing_dialect sichuan_dialect", "Γειά", ""},
		"all but one":               {strings.TrimPrefix(published, "chinese "), "مرحبا", "this checkpoint speaks English, French, German, Italian, Japanese, Korean, Portuguese, Russian and Spanish only"},
		"Chinese is in Japanese":    {"japanese english", "你好", ""},
		"scripts nobody speaks now": {"english", "𓀀𓀁", "is in Egyptian Hieroglyphs script" + speaksEnglish},
	} {
		err := knowing(c.languages).check(c.text)
		var refused *RequestError
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.refused != "" && (!errors.As(err, &refused) || refused.Param != "input" || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v, wanted %s", name, err, c.refused)
		}
	}
}

// TestUnknownScripts: what is spoken with a warning, and in which words.
func TestUnknownScripts(t *testing.T) {
	for name, c := range map[string]struct{ languages, text, scripts string }{
		"English":           {"english", "Hello there, naïve café, 10 Ω, π, 5 µm, 😄", ""},
		"a greeting":        {"english", "Hello 你好", "Han"},
		"homoglyphs":        {"english", "Please pаy thе bill.", "Cyrillic"},
		"several":           {"english", "Tokyo is 東京, in Kana とうきょう and Moscow is Москва, they say", "Cyrillic, Han and Hiragana"},
		"a name of two":     {"english", "Inuktitut is ᐃᓄᒃ", "Canadian Aboriginal"},
		"refused":           {"english", "你好, you", ""},
		"of the checkpoint": {"chinese english", "Hello 你好", ""},
		"every language":    {published, "Hello مرحبا", ""},
		"Greek":             {"english", "The word for it is λόγος", "Greek"},
	} {
		w := knowing(c.languages)
		want := ""
		if c.scripts != "" {
			want = "the text has letters of " + c.scripts + " script, which may come out as noise: this checkpoint speaks English only"
		}
		if got := w.unknown(c.text); got != want {
			t.Errorf("%s: %q, wanted %q", name, got, want)
		}
		if err := w.check(c.text); (err != nil) != (name == "refused") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestScriptsOf: every language has scripts that Unicode has.
func TestScriptsOf(t *testing.T) {
	for language, scripts := range scriptsOf {
		for _, script := range scripts {
			if unicode.Scripts[script] == nil {
				t.Errorf("%s: Unicode has no script %s", language, script)
			}
		}
	}
	for dialect, language := range dialectOf {
		if scriptsOf[language] == nil {
			t.Errorf("%s is of %s, which has no scripts", dialect, language)
		}
	}
	if got := len(scriptsOf); got != len(strings.Fields(published)) {
		t.Errorf("%d languages", got)
	}
}

// randomText is of words in scripts, signs and numbers, most in one script by turns.
func randomText(rng *rand.Rand) string {
	kinds := []string{"abcdeé", "abcdeé", "你好今天", "привет", "안녕", "θπ", "0123", ".,!?…", "。！", "😄🇩🇪", "\u0301\u200b", "\n"}
	var b strings.Builder
	favourite := kinds[rng.IntN(5)]
	for range rng.IntN(30) {
		kind := []rune(kinds[rng.IntN(len(kinds))])
		if rng.IntN(3) == 0 {
			kind = []rune(favourite)
		}
		for range 1 + rng.IntN(8) {
			b.WriteRune(kind[rng.IntN(len(kind))])
		}
		if rng.IntN(3) > 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// greekWords are what counts of Greek in the texts of randomText.
var greekWords = regexp.MustCompile(`\p{Greek}(?:\p{M}|\x{200b})*\p{Greek}(?:\p{Greek}|\p{M}|\x{200b})*`)

// verdict tells, by the definition alone, whether a text in pieces is refused: at 64
// letters or more, or at its end.
func verdict(s string) bool {
	spans := greekWords.FindAllStringIndex(s, -1)
	inWord := func(at int) bool {
		return slices.ContainsFunc(spans, func(span []int) bool { return span[0] <= at && at < span[1] })
	}
	letters, known, foreign := 0, 0, 0
	for at, r := range s {
		switch {
		case !unicode.IsLetter(r), unicode.Is(unicode.Greek, r) && !inWord(at):
			continue
		case unicode.Is(unicode.Latin, r):
			known++
		case unicode.In(r, unicode.Han, unicode.Hangul):
			foreign += 2
		default:
			foreign++
		}
		letters++
		if letters >= 64 && foreign > known {
			return true
		}
	}
	return foreign > known
}

// written is what became of a text in pieces: what was to be spoken before its end, its
// segments, and why it was refused.
func written(s *script, pieces []string) (early string, segments []string, err error) {
	for _, piece := range pieces {
		if err = s.write(piece); err != nil {
			break
		}
		early = ""
		for _, seg := range s.segments {
			early += string(seg.text)
		}
	}
	if e := s.end(); err == nil {
		err = e
	} else if e != s.refusal() || e.Error() != err.Error() {
		return early, nil, fmt.Errorf("%w, and at the end %v", err, e)
	}
	for _, seg := range s.segments {
		segments = append(segments, string(seg.text))
	}
	return early, segments, err
}

// cutUp cuts a text anywhere, also within characters.
func cutUp(s string, rng *rand.Rand) (pieces []string) {
	for most := 1 + rng.IntN(20); len(s) > 0; {
		n := 1 + rng.IntN(min(len(s), most))
		pieces, s = append(pieces, s[:n]), s[n:]
	}
	return pieces
}

// TestCutsDoNotMatter: whether and why a text in pieces is refused, and else its segments,
// are the same however it is cut; short texts are refused as whole ones are; and no text is
// to be spoken while most of it is foreign from its beginning.
func TestCutsDoNotMatter(t *testing.T) {
	m, english := tiny(t, CustomVoice, 1), knowing("english")
	rng := rand.New(rand.NewPCG(5, 6))
	refused, spoken, overturned := 0, 0, 0
	for range 3000 {
		text := randomText(rng)
		fresh := func() *script {
			s := newScript(m.encoder.Tokenizer(), segmentLimits([]int{-1, 1, 300}[len(text)%3]))
			s.letters.writing = english
			return s
		}
		_, want, wantErr := written(fresh(), []string{text})
		whole, say := english.check(text), strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
		switch {
		case !say:
			continue
		case verdict(text) != (wantErr != nil):
			t.Fatalf("%q: %v", text, wantErr)
		case wantErr == nil:
			spoken++
		case whole == nil:
			overturned++
		default:
			refused++
		}
		if utf8.RuneCountInString(text) < 64 && fmt.Sprint(wantErr) != fmt.Sprint(whole) {
			t.Fatalf("%q: %v, as a whole %v", text, wantErr, whole)
		}
		for range 4 {
			early, got, err := written(fresh(), cutUp(text, rng))
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || err == nil && !slices.Equal(got, want) {
				t.Fatalf("%q: %q, %v, want %q, %v", text, got, err, want, wantErr)
			}
			if first := strings.IndexFunc(text, unicode.IsLetter); wantErr != nil && !strings.ContainsAny(text, "abcdeéθπ") && len(early) > first {
				t.Fatalf("%q: %q is to be spoken", text, early)
			}
		}
	}
	if refused < 500 || spoken < 500 || overturned == 0 {
		t.Errorf("%d refused, %d spoken, %d refused that are spoken whole: the test is void", refused, spoken, overturned)
	}
}

// TestForeignPieces: a text in pieces that is foreign ends with an error for the reader, and
// no audio; one that only begins so is spoken as the whole is.
func TestForeignPieces(t *testing.T) {
	m := tiny(t, CustomVoice, 2)
	m.writing = knowing("english")
	sentence := strings.Repeat("你好，今天。", 3)
	for name, c := range map[string]struct {
		pieces []string
		flush  bool
		want   string
		writes bool // a Write refuses it already
	}{
		"one piece":     {pieces: []string{"你好"}, want: `"你好" is in Han script`},
		"short":         {pieces: []string{"你", "好", "，"}, want: `"你好，" is in Han script`},
		"long":          {pieces: slices.Repeat([]string{sentence}, 10), want: `"` + string([]rune(sentence + sentence + sentence)[:40]) + `…" is in Han script`, writes: true},
		"flushed":       {pieces: []string{"你好。"}, flush: true, want: `"你好。" is in Han script`},
		"by the end":    {pieces: []string{"Yes. ", "你好，今天"}, want: `"Yes. 你好，今天" is mostly in Han script`},
		"begins so":     {pieces: []string{"東京", " is", " a city."}},
		"title":         {pieces: []string{"«Преступление и наказание» ", "is a novel ", "by Fyodor Dostoevsky."}},
		"in the middle": {pieces: []string{"I love ", "東京", " in spring."}},
	} {
		s, err := m.SpeakPieces(context.Background(), Request{MaxFrames: 4, Seed: new(int64(1))})
		if err != nil {
			t.Fatal(err)
		}
		var wrote error
		for _, piece := range c.pieces {
			if wrote = s.Write(piece); wrote != nil {
				break
			}
		}
		if c.writes != (wrote != nil) {
			t.Errorf("%s: a piece: %v", name, wrote)
		}
		if c.flush {
			err = s.Flush()
		} else {
			err = s.End()
		}
		events := ""
		var read error
		for event, err := range s.Events() {
			if read = err; err == nil {
				events += fmt.Sprintf("%T ", event)
			}
		}
		s.Close()
		if c.want == "" {
			whole, _, _ := say(t, m, Request{Text: strings.Join(c.pieces, ""), MaxFrames: 4, Seed: new(int64(1)), Layout: LayoutStreaming})
			if err != nil || read != nil || strings.Count(events, "synth.Audio") != len(whole)/m.cfg.Talker.Groups || !strings.HasSuffix(events, "synth.Done ") {
				t.Errorf("%s: %v, %v, %s", name, err, read, events)
			}
			continue
		}
		var refused *RequestError
		if !errors.As(read, &refused) || fmt.Sprint(err) != fmt.Sprint(read) || !strings.HasPrefix(read.Error(), "input: "+c.want) {
			t.Errorf("%s: %v, the reader is told %v, wanted %s", name, err, read, c.want)
		}
		if strings.Contains(events, "Done") || name != "by the end" && events != "" {
			t.Errorf("%s: %s", name, events)
		}
	}
}

// TestForeignInstruct: what is not spoken may be in any script.
func TestForeignInstruct(t *testing.T) {
	m := tiny(t, VoiceDesign, 2)
	m.writing = knowing("english")
	if _, _, done := say(t, m, Request{Text: "Hello.", Instruct: "用温柔的声音说话", MaxFrames: 2}); done.Frames == 0 {
		t.Error("nothing was spoken")
	}
	base := tiny(t, Base, 2)
	base.writing = knowing("english")
	ref := someReference(base, true)
	ref.Text = "他在下雨之前回到了港口"
	if _, _, done := say(t, base, Request{Text: "Hello.", Reference: ref, MaxFrames: 2}); done.Frames == 0 {
		t.Error("nothing was spoken")
	}
	if _, err := base.Speak(context.Background(), Request{Text: "你好", Reference: ref, Language: "english"}); err == nil {
		t.Error("a foreign text was taken")
	}
}

// TestGreekFirst: a Greek letter that a piece ends with is held back until it is known
// whether a word follows; alone, it is spoken.
func TestGreekFirst(t *testing.T) {
	m, english := tiny(t, CustomVoice, 1), knowing("english")
	for _, c := range []struct {
		pieces []string
		spoken string
	}{{[]string{"Γ", "ειά σου"}, ""}, {[]string{"Ω", " is a unit."}, "Ω is a unit."}, {[]string{"π"}, "π"}} {
		s := newScript(m.encoder.Tokenizer(), segmentLimits(300))
		s.letters.writing = english
		early, segments, err := written(s, c.pieces)
		if got := strings.Join(segments, ""); got != c.spoken || (err != nil) != (c.spoken == "") || c.spoken == "" && early != "" {
			t.Errorf("%q: %q, before the end %q, %v", c.pieces, got, early, err)
		}
	}
}
