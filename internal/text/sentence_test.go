package text

import (
	"slices"
	"strings"
	"testing"
)

// sentenceCases are texts with a | wherever a sentence ends within them.
var sentenceCases = map[string][]string{
	"nothing special": {
		"", // no segment
		"Hello",
		"Hello.",
		"Hello. ",
		"One. |Two.",
		"One! |Two? |Three.",
		"  One.  |Two.  ",
		"What?! |No.",
		"One . |Two ! |Three",
		"He said yes; she, no: neither - I think - knew – or cared.",
		"No space.Here and!here",
	},
	"abbreviations": {
		"Dr. Blue paid 1.000,50 € at 192.168.1.1, e.g. via example.com. |Done.",
		"Mr. and Mrs. Smith met Ms. Jones and Prof. Brown. |They talked.",
		"See St. Paul's, i.e. the church. |Then go.",
		"Apples, pears, etc. are fruit. |So are plums, etc. |They grow.",
		"Rome vs. Carthage. |Rome won.",
		"It is No. 5 of vol. 3. |No. |Really no. |Yes.",
		"The U.S. Government is in the U.S. |The dollar is too.",
		"J. R. R. Tolkien and J.R.R. Tolkien. |Two.",
		"We go with plan B. |It is better. |Vitamin C. |And so on.",
		"Apple Inc. shares rose, and Ford Motor Co. |The rest fell.",
		"She has a Ph.D. from M.I.T. |He does not.",
		"(Cf. fig. 3.) |Next.",
		"Use tools (e.g. a saw). |Next.",
		"Use tools (saws, etc.). |Next.",
		"Saws, etc., are tools. |Next.",
		"It opens on Sept. 5 and closes on Dec. 24. |Come!",
		"Approx. five, approx. Five.",
		"He was born ca. 1850 in Ft. Worth. |Good.",
	},
	"numbers": {
		"It is 98.6 degrees. |Or 37,0.",
		"Pi is 3.14159. |Take 2.",
		"Version v2.0.1 is out. |Version 2.0 too.",
		"It costs $1,234.56. |Cheap!",
		"On 24.12.2024 at 10:30. |Come.",
		"At 1:49 p.m. we left. |At 2 a.m. |We slept.",
		"It was in 1998. |Then came 1999.",
		"Now .5 is half. |So is 0.5.",
		"10-20 or 10–20 or 10—20. |Fine.",
		"1. Foo\n|2. Bar\n|3. Baz",
		"1) Foo\n|2) Bar",
		"IV. The fourth\n|V. The fifth",
		"A. The first\n|B. The second",
		"I am 5. |You are 7.",
		"9. 8. 7.",
		"8...",
		"9 8 7",
		"10.\u00a0000 and 10\u00a0000. |Yes.",
	},
	"atoms": {
		"Go to https://example.com/a?b=c.d!e,f. |Then www.example.org.",
		"Write to first.last@mail.example.com. |Thanks.",
		"Open main.go and a.out? |Or read.me!",
		"Ping 192.168.1.1. |It is up.",
		"In ../a.b.c/.config. |Yes.",
		"Yahoo!’s page. |Ok.",
	},
	"ellipses": {
		"Well... perhaps. |No... |Yes.",
		"Well… perhaps. |No… |Yes.",
		"... and then. |...and now.",
		"He ... stopped. |Why ...?",
		"我……不知道。|真的。",
		"我不知道……。|真的。",
	},
	"quotes and brackets": {
		"He said “Go.” |Then he went.",
		"\"Stop!\" he said. |\"Why?\" |She went.",
		"'Stop.' |'Why?'",
		"He left (at last). |(She stayed.) |They met.",
		"“Stop!” |“No!”",
		"**Bold.** |_Italic._ |`Code`.",
		"He asked “why?” and left. |Good.",
		"“Plan B.” |Next.",
		"One. |[Two.] |{Three.} |<Four>",
		"Great. 😄 |Next! 🎉🎉 |Last 👍🏽.",
		"Great.😄 |Next.",
	},
	"lines": {
		"One.\n|Two.\r\n|Three.\u2028|Four.",
		"A heading\n|Then a text.",
		"A heading\n\n|then a text.\u2029|and more",
		"This is a line of a text that was wrapped for a terminal\nor another thing. |Next.",
		"This is a line of a text that was wrapped for a terminal of\nIBM or another thing. |Next.",
		"Roses are red,\nViolets are blue.",
		"Eggs:\n- One\n|- Two\n|* Three\n|• Four\n|– Five",
		"One\n***\n|Two\n* * *\n|Three",
		"— Bonjour.\n|— Salut.",
		"Dr.\nBlue",
		"\n\nOne",
		"One\n\n\n",
		"One\n\n😄\n\n|Two",
	},
	"what cannot be decided": {
		"I met the Dr. She left.",
		"It was Plan B. Paul left.",
		"In the U.S. |The dollar.",
		"Platz 3. |Danach der 3. Weg.",
		"How many? |5. Good.",
	},
	"no capitals": {
		"hello there. |how are you? |i am fine. |ok",
		"Hello there. how are you? |fine",
		"i use tools, e.g. a saw. |etc. and so on.",
	},
	"German": {
		"Das ist z. B. ein Satz, d. h. einer. |Noch einer.",
		"Das ist z.B. ein Satz, d.h. Text. |Noch einer.",
		"Äpfel bzw. Birnen usw. sind Obst, usw. |Er isst.",
		"Am 3. Mai, am 3. und 4. Juni und am 24. Dezember. |Danach nicht.",
		"Im 19. Jahrhundert und der 2. Weltkrieg. |Danach.",
		"Am 3. 5. 2024 kam Nr. 7. |Er blieb.",
		"„Hallo.“ |Er ging. |»Komm!« |Sie kam.",
		"„Halt!“, rief er. |„Warum?“ fragte sie.",
		"Es kostet 1,5 Mio. Euro, ca. 3 Mrd. Yen. |Viel.",
		"Fr. Dr. Müller wohnt Hauptstr. 5. |Hr. Meier nicht.",
		"Ludwig XIV. war König. |Er starb.",
		"Ich habe 7. |Das reicht.",
	},
	"French": {
		"M. Dupont et Mme. Durand sont là. |Ils parlent.",
		"M. Le Gall dit : « Bonjour ! » |Puis il part.",
		"Bonjour ! |Ça va ? |Oui ; bien sûr.",
		"« Où est-il ? » demanda-t-elle. |« Là. »",
		"Il dit\u00a0: «\u00a0Bonjour.\u00a0» |Puis rien\u00a0! |Fin.",
		"Cf. p. 12, art. 5, etc. |C’est tout.",
	},
	"Spanish": {
		"El Sr. García y la Sra. López viven en la Av. Central. |Hola.",
		"¿Qué tal? |¡Bien! |¿Y tú?",
		"Hola. |¿Qué tal? |¡Bien!",
		"En EE.UU. y en EE. UU. hay más. |Pero no.",
		"Véase la pág. 5, p. ej. el texto. |Fin.",
	},
	"Italian": {
		"Il Sig. Rossi e la Sig.ra Bianchi, ecc. |Poi basta.",
		"Il dott. Verdi c'è. |Poi no.",
		"Costa 1.234,56 euro, p.es. oggi. |Domani no.",
	},
	"Portuguese": {
		"O Sr. Silva e a Dra. Costa chegaram. |Eles falam.",
		"Veja a pág. 3, art. 2, etc. |Pronto.",
	},
	"Russian": {
		"А. С. Пушкин родился в г. Москва. |Он писал.",
		"Это т.е. пример, т. е. образец. |Да.",
		"«Стой!» — крикнул он. |«Почему?» |Тишина.",
		"Стр. 5, рис. 3 и др. |Это всё. |Это был я. |Потом нет.",
		"— Да! |— Нет!\n|— Почему?",
	},
	"Chinese": {
		"你好。|再见！|好吗？|好；|完。",
		"他说：“你好。”|然后走了。",
		"他说。|“你好。”",
		"“好！”|“不！”",
		"他说\"你好。\"|然后走了。|\"再见。\"",
		"價格是3.5元，日期是2024.5.1。|好的。",
		"你好!|今天好吗?|很好.|再见",
		"真的吗？！|真的。。。|是的",
		"1.苹果\n|2.香蕉",
		"访问https://a.com/x?y=1。|谢谢。",
		"1998年建成，2001~2003年扩建",
	},
	"Japanese": {
		"こんにちは。|さようなら！　|またね？",
		"「行くぞ！」と言った。|「はい。」|彼は行った。",
		"これはNo. 5です。|次はＡ．Ｂです。",
		"モーニング。|（終わり。）|次。",
	},
	"Korean": {
		"안녕하세요. |저는 김입니다. |네. |가격은 3.5원입니다!",
	},
	"other scripts": {
		"यह है। |वह भी है॥ |ठीक",
		"कैसे हो? |ठीक।|हाँ",
		"ما اسمك؟ |اسمي د. أحمد. |شكرا",
		"یہ ہے۔ |ٹھیک",
		"สวัสดีครับ คุณสบายดีไหม",
		"Γεια σου. |Τι κάνεις;",
		"შენ ხარ. |ის არის.",
		"Բարև։ |Լավ",
	},
	"marks of direction and joiners": {
		"One.\u200f |Two.\u200e",
		"One.\u200b|Two",
		"exam\u00adple. |Two",
		"Ein 1️⃣. |Zwei",
	},
}

func TestSentences(t *testing.T) {
	for name, texts := range sentenceCases {
		t.Run(name, func(t *testing.T) {
			for _, c := range texts {
				var want []string
				if c != "" {
					want = strings.Split(c, "|")
				}
				if got := Sentences(strings.Join(want, "")); !slices.Equal(got, want) {
					t.Errorf("got %s\nwanted %s", strings.Join(got, "|"), c)
				}
			}
		})
	}
}
