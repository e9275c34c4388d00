// Package report tests the page that lab/report writes, in a browser.
package report

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/run/runtest"
)

// colours is the number of causes of waits with their own colour; others share the last.
const colours = 8

// The browser test checks the structure of the rendered page, not its pixels, which differ
// with every font and release of the browser.
func TestBrowser(t *testing.T) {
	r := runtest.Sample()
	b := openPage(t, r)

	t.Run("structure", func(t *testing.T) {
		b.screen(t, 1280, "light")
		type section struct{ Title, Verdict string }
		sections := eval[[]section](t, b, `[...document.querySelectorAll("section.job")].map(s => ({
			Title: s.querySelector("h2").textContent, Verdict: [...s.querySelectorAll(".verdict")].map(v => v.textContent.trim()).join("|")}))`)
		at := map[string]int{} // the section of each job in each place
		for _, res := range r.Results {
			job := res.Suite + "/" + res.Name
			i, had := at[job+" "+res.Place]
			if !had {
				i = len(at)
				at[job+" "+res.Place] = i
			}
			if i >= len(sections) {
				t.Fatalf("%d sections, none for %s in %s", len(sections), job, res.Place)
			}
			if !strings.Contains(sections[i].Title, job) {
				t.Errorf("section %d is titled %q; want %q in it", i, sections[i].Title, job)
			}
			if !strings.Contains(sections[i].Verdict, strings.Join(strings.Fields(report.Verdict(r, res)), " ")) {
				t.Errorf("section %s does not show the verdict of %s", job, res.ID)
			}
		}
		if len(sections) != len(at) {
			t.Errorf("%d sections for %d jobs", len(sections), len(at))
		}
		want := 0
		for _, res := range r.Results {
			for _, b := range res.Blocks {
				if b.Role == run.RoleTimed && b.Error == "" {
					want++
				}
			}
		}
		if want == 0 {
			t.Fatal("the sample has no timed block")
		}
		dots := eval[int](t, b, `document.querySelectorAll("circle.dot").length`)
		if dots != want {
			t.Errorf("%d dots for %d timed blocks", dots, want)
		}
		badges := eval[int](t, b, `document.querySelectorAll("#claims .claim > summary .badge").length`)
		if badges != len(r.Claims) {
			t.Errorf("%d verdicts on %d claims", badges, len(r.Claims))
		}
		areas := 0
		for _, res := range r.Results {
			for _, v := range res.Variants {
				if v.Waits != nil {
					areas += min(len(v.Waits.Causes), colours)
				}
			}
		}
		if n := eval[int](t, b, `document.querySelectorAll("svg.waits path.area").length`); n != areas || areas == 0 {
			t.Errorf("%d areas of waits, want %d", n, areas)
		}
		plain := eval[int](t, b, `[...document.querySelectorAll("svg.waits path.area")].filter(a => getComputedStyle(a).fill === "none" || a.getBoundingClientRect().width < 100).length`)
		if plain > 0 {
			t.Errorf("%d areas of waits are not filled, or have no width", plain)
		}
		if n := eval[int](t, b, `new Set([...document.querySelector("svg.waits").querySelectorAll("path.area")].map(a => getComputedStyle(a).fill)).size`); n != colours {
			t.Errorf("%d colours for %d causes", n, colours)
		}
		broken := eval[int](t, b, `[...document.querySelectorAll("nav a, main a")].filter(a => !document.getElementById(a.getAttribute("href").slice(1))).length`)
		if broken > 0 {
			t.Errorf("%d links lead nowhere", broken)
		}
		unnamed := eval[int](t, b, `[...document.querySelectorAll("svg[role=img]")].filter(s => !s.querySelector(":scope > title")?.textContent.trim()).length
			+ [...document.querySelectorAll("svg svg[role]")].length + [...document.querySelectorAll("th:not([scope])")].length`)
		if unnamed > 0 {
			t.Errorf("%d pictures without a title or table heads without a scope", unnamed)
		}
	})

	for _, width := range []int64{1280, 400} {
		t.Run(fmt.Sprintf("width %d", width), func(t *testing.T) {
			b.screen(t, width, "light")
			b.fold(t, true)
			overflow := eval[float64](t, b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
			if overflow > 0 {
				t.Errorf("the page is %v px wider than the window", overflow)
			}
			pictures := eval[int](t, b, `document.querySelectorAll("svg.plot").length`)
			if pictures == 0 {
				t.Fatal("no charts")
			}
			bad := eval[[]string](t, b, `[...document.querySelectorAll("svg.plot")].filter(s => s.checkVisibility()).filter(s => {
				const r = s.getBoundingClientRect();
				return r.width < 100 || r.height < 15 || r.left < 0 || r.right > innerWidth + 0.5;
			}).map(s => s.querySelector("title").textContent)`)
			if len(bad) > 0 {
				t.Errorf("charts without a size or outside the window: %q", bad)
			}
			bad = eval[[]string](t, b, overlapping)
			if len(bad) > 0 {
				t.Errorf("labels of an axis overlap: %q", bad)
			}
		})
	}

	// On a telephone every verdict is in sight without scrolling sideways, the outcome
	// comes before the first experiment, and text that does not fit ends in an ellipsis.
	t.Run("width 390", func(t *testing.T) {
		b.screen(t, 390, "light")
		b.fold(t, true)
		badges := eval[int](t, b, `document.querySelectorAll(".outcomes .badge, .figures.main .badge").length`)
		hidden := eval[[]string](t, b, `[...document.querySelectorAll(".outcomes .badge, .figures.main .badge")].filter(e => {
			const r = e.getBoundingClientRect();
			return r.width < 10 || r.left < 0 || r.right > innerWidth;
		}).map(e => e.textContent)`)
		if badges < len(r.Results) || len(hidden) > 0 {
			t.Errorf("of %d verdicts these are out of sight: %q", badges, hidden)
		}
		first := eval[string](t, b, `[...document.querySelectorAll("main > section")].map(s => s.id || s.className).slice(0, 3).join(" ")`)
		if first != "claims outcome verdicts" {
			t.Errorf("the page begins with %s", first)
		}
		cut := eval[[]string](t, b, `[...document.querySelectorAll(".lane > span, .claim .line, .link-text > div")].filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).textOverflow !== "ellipsis").map(e => e.textContent)`)
		if len(cut) > 0 {
			t.Errorf("cut off without an ellipsis: %q", cut)
		}
		if n := eval[int](t, b, `document.querySelectorAll(".outcomes .lane").length`); n == 0 {
			t.Error("the outcome has no lanes")
		}
	})

	// Nothing empty is drawn.
	t.Run("nothing empty", func(t *testing.T) {
		empty := eval[[]string](t, b, `[...document.querySelectorAll("tbody, figure, ul, ol, dl, section")].filter(e => !e.textContent.trim() && !e.querySelector("svg")).map(e => e.outerHTML.slice(0, 80))`)
		if len(empty) > 0 {
			t.Errorf("empty: %q", empty)
		}
	})

	backgrounds := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			b.screen(t, 1280, scheme)
			backgrounds[scheme] = eval[string](t, b, `getComputedStyle(document.body).backgroundColor`)
			poor := eval[[]string](t, b, contrast)
			if len(poor) > 0 {
				t.Errorf("too little contrast: %q", poor)
			}
		})
	}
	if backgrounds["light"] == backgrounds["dark"] {
		t.Errorf("dark mode keeps the background %s", backgrounds["light"])
	}

	t.Run("print", func(t *testing.T) {
		b.screen(t, 690, "dark") // A4 without its margins; a dark desktop must not print dark
		b.media(t, "print", "dark")
		b.fold(t, false)
		background := eval[string](t, b, `getComputedStyle(document.body).backgroundColor`)
		if background != "rgb(255, 255, 255)" {
			t.Errorf("the background on paper is %s", background)
		}
		if overflow := eval[float64](t, b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); overflow > 0 {
			t.Errorf("%v px would be cut off on paper", overflow)
		}
		hidden := eval[int](t, b, `[...document.querySelectorAll("details")].filter(d => d.lastElementChild.getBoundingClientRect().height < 1 || !d.lastElementChild.checkVisibility({contentVisibilityAuto: true})).length`)
		if hidden > 0 {
			t.Errorf("%d folded parts would not be printed", hidden)
		}
	})

	t.Run("legend hides a variant", func(t *testing.T) {
		b.screen(t, 1280, "light")
		const shown = `[...document.querySelector("section.job").querySelectorAll(".strip.v0, .wait.v0")].filter(e => e.checkVisibility()).length`
		before := eval[int](t, b, shown)
		b.do(t, chromedp.Click(chromedp.CSS(".job .toggle0")))
		after := eval[int](t, b, shown)
		for begun := time.Now(); after != 0 && time.Since(begun) < time.Minute; after = eval[int](t, b, shown) {
			time.Sleep(10 * time.Millisecond) // the page has not been told of the click yet
		}
		if before == 0 || after != 0 {
			t.Errorf("%d rows of the variant before it was hidden, %d after", before, after)
		}
	})

	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.errors) > 0 {
		t.Errorf("the console has errors: %q", b.errors)
	}
	for _, u := range b.requests {
		if u != b.url {
			t.Errorf("the page asked for %s", u)
		}
	}
	if len(b.requests) == 0 {
		t.Error("no request was seen, not even for the page: the check sees nothing")
	}
}

// overlapping lists neighbouring labels of one axis that touch.
const overlapping = `[...document.querySelectorAll("svg.plot")].filter(s => s.checkVisibility()).flatMap(s => {
	const boxes = [...s.querySelectorAll("text.tick")].map(t => [t.getBoundingClientRect(), t.textContent]);
	const bad = [];
	for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
		const [a, x] = boxes[i], [b, y] = boxes[j];
		if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom)
			bad.push(s.querySelector("title").textContent + ": " + x + " and " + y);
	}
	return bad;
})`

// contrast lists texts below WCAG's 4.5 to 1, each kind once. The background
// is that of the nearest element with one.
const contrast = `(() => {
	const parse = c => c.match(/[\d.]+/g).map(Number);
	const lum = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
	const poor = new Set();
	let seen = 0;
	for (const e of document.querySelectorAll("body, body *")) {
		const svg = e instanceof SVGElement;
		if (svg ? e.tagName !== "text" : ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
		if (e.closest(".skip")) continue;
		seen++;
		const style = getComputedStyle(e);
		const a = lum(parse(svg ? style.fill : style.color)), b = lum(behind(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) poor.add(e.tagName + "." + (e.getAttribute("class") ?? "") + " in ." + (e.parentElement.getAttribute("class") ?? "") + " " + ratio.toFixed(2));
	}
	if (seen < 100) poor.add("only " + seen + " texts seen");
	return [...poor];
})()`

type browser struct {
	ctx context.Context
	url string

	mu       sync.Mutex
	errors   []string
	requests []string
}

func openPage(t *testing.T, r *run.Run) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium, chromium-browser or google-chrome on PATH")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.HTML(f, r); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	const patience = 8 * time.Minute // a browser starts slowly on a busy machine
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, chromedp.WSURLReadTimeout(patience),
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.UserDataDir(profileDir(t)))
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{ctx: ctx, url: (&url.URL{Scheme: "file", Path: file}).String()}
	err = chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			b.requests = append(b.requests, e.Request.URL)
		case *runtime.EventExceptionThrown:
			b.errors = append(b.errors, e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			b.errors = append(b.errors, "console."+e.Type.String())
		case *cdplog.EventEntryAdded:
			b.errors = append(b.errors, e.Entry.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, runtime.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.Navigate(b.url))
	return b
}

// profileDir is a directory for the browser. Its processes write to it until the
// last of them has ended, which may be after the allocator: so it is removed more than
// once, and not by t.TempDir.
func profileDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "stele-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := os.RemoveAll(dir)
		for begun := time.Now(); err != nil && time.Since(begun) < time.Minute; err = os.RemoveAll(dir) {
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (b *browser) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval returns the value of an expression in the page.
func eval[T any](t *testing.T, b *browser, js string) T {
	t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](js))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// media makes the page think it is shown on a screen or printed, on a light
// or a dark desktop.
func (b *browser) media(t *testing.T, media, scheme string) {
	t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *browser) screen(t *testing.T, width int64, scheme string) {
	t.Helper()
	b.do(t, chromedp.EmulateViewport(width, 900))
	b.media(t, "screen", scheme)
	now := fmt.Sprintf(`innerWidth === %d && matchMedia("screen and (prefers-color-scheme: %s)").matches`, width, scheme)
	for begun := time.Now(); !eval[bool](t, b, now); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("the page is not shown %d px wide in %s mode", width, scheme)
		}
	}
}

func (b *browser) fold(t *testing.T, open bool) {
	t.Helper()
	b.do(t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelectorAll("details").forEach(d => d.open = %t)`, open)))
}
