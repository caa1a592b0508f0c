package page

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// MYNAH_SHOTS=FOLDER keeps pictures of the page, for people to judge: docs/page.md has
// what they are judged by.
func TestShots(t *testing.T) {
	if os.Getenv("MYNAH_SHOTS") == "" {
		t.Skip("MYNAH_SHOTS is not set")
	}
	const text = "The first boats came home before the rain. Nobody had seen them leave, and nobody asked where they had been. It was a Tuesday, as far as anyone remembers."
	for _, width := range []int{1280, 390} {
		for _, dark := range []bool{false, true} {
			name := fmt.Sprintf("%d-%s", width, map[bool]string{false: "light", true: "dark"}[dark])
			t.Run(name, func(t *testing.T) {
				s := open(t, setup{width: width, height: map[int]int{1280: 900, 390: 844}[width], dark: dark, frame: 55 * time.Millisecond})
				s.shoot(name + "-idle")
				s.speak("Good morning.")
				s.whole()
				s.speak(text)
				s.untilState(`state().speaker.player.position > 72000`)
				s.shoot(name + "-playing")
				s.quiet()
				s.engine.set(func() { s.engine.fail = 14 })
				s.speak(text)
				s.untilState(`state().selected.state === "failed"`)
				s.until(`document.querySelector("#phase").textContent !== ""`)
				s.shoot(name + "-failed")
				if dark {
					return
				}
				s.engine.set(func() { s.engine.fail, s.engine.frame = 0, 120*time.Millisecond })
				s.speak(text)
				s.until(`/Slower/.test(document.querySelector("#phase").textContent)`)
				s.shoot(name + "-slow")
				s.quiet()
				js[bool](s, `(document.querySelectorAll("[name=mode]")[1].click(), document.querySelector("#more").open = true, document.querySelector("#text").value = "", true)`)
				s.do(chromedp.SendKeys(chromedp.CSS("#text"), "Good evening, everybody. And wel"))
				s.until(`!document.querySelector("#said").hidden`)
				s.shoot(name + "-live")
				s.cut()
				s.until(`document.querySelector("#status").dataset.state === "offline"`)
				s.shoot(name + "-offline")
			})
		}
	}
}
