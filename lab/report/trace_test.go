package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/lab/run/runtest"
)

// Every way to write a run shows the same chains of waits, and says what
// is missing.
func TestTraceIsShown(t *testing.T) {
	r := runtest.Sample()
	r.Results = r.Results[:1]
	texts := written(t, r)
	for _, kind := range []string{"text", "details", "markdown", "html"} {
		text := strings.Join(strings.Fields(strings.NewReplacer("\\", "", "&lt;", "<", "&gt;", ">").Replace(texts[kind])), " ")
		for _, want := range []string{
			"store.(*Log).Append: blocked in sync.(*Cond).Wait in store.(*Log).await",
			"store.(*Log).flush: in fsync (os.(*File).Sync in store.(*Log).commit); releases it in store.(*Log).flush",
			"kernel: ext4 journal, waiting for a commit 79 %; disk flush <b> 21 %",
			"6 % in other chains, each less",
			"times of system calls: n/a, time system calls with BPF",
			"chains of waits: n/a, the execution trace ends",
			"futex (Go runtime)",
			"system calls timed by BPF in 3 blocks",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", kind, want)
			}
		}
		if strings.Contains(text, "example.org/app/store.(*Log).Append: blocked") {
			t.Errorf("%s shows the path of a package", kind)
		}
		if kind != "text" && kind != "details" && strings.Contains(texts[kind], "flush <b>") {
			t.Errorf("%s does not escape", kind)
		}
	}
}

// A box is as high as its share, boxes lie within the picture, and what is too
// small is left out.
func TestChainPicture(t *testing.T) {
	trace := runtest.Sample().Results[0].Variants[0].Trace
	root := chainTree(trace)
	if len(root.next) != 3 || len(root.next[0].next) != 4 || root.depth(0) != 3 {
		t.Fatalf("%d beginnings, the first leads to %d, %d deep", len(root.next), len(root.next[0].next), root.depth(0))
	}
	if got := root.next[0].share; got < .850 || got > .852 {
		t.Errorf("the appenders wait for %g", got)
	}
	kernel := root.next[0].next[0].next
	if len(kernel) != 2 || kernel[0].second != "ext4 journal, waiting for a commit" || kernel[0].share < .48 || kernel[0].share > .5 {
		t.Errorf("the sync leads to %+v", kernel)
	}
	if d := root.depth(.6); d != 2 {
		t.Errorf("%d columns of large boxes", d)
	}
	picture := string(chainPicture("a <b>", trace))
	if n := strings.Count(picture, `<svg class="clip"`); n != 8 {
		t.Errorf("%d boxes, want 8: %s", n, picture)
	}
	if strings.Contains(picture, "<b>") {
		t.Error("a name is not escaped")
	}
	if chainPicture("a", &run.VariantTrace{}) != "" {
		t.Error("nothing is drawn")
	}
}

// A histogram has a bar for each bucket with calls, the highest as high as the
// picture; all calls of a variant share an axis.
func TestCallPictures(t *testing.T) {
	list := callPictures("a", runtest.Sample().Results[0].Variants[0].Trace)
	if len(list) != 3 {
		t.Fatalf("%d pictures: the calls of the Go runtime are not drawn", len(list))
	}
	bars := regexp.MustCompile(`<rect class="lat c0" x="([0-9.]+)%" width="([0-9.]+)%" y="([0-9.]+)" height="([0-9.]+)"`)
	for i, want := range []int{6, 7, 3} {
		got := bars.FindAllStringSubmatch(string(list[i].Picture), -1)
		if len(got) != want {
			t.Errorf("%s: %d bars, want %d", list[i].Call, len(got), want)
		}
		highest := 0
		for _, bar := range got {
			if bar[4] == "70" && bar[3] == "6" {
				highest++
			}
		}
		if highest != 1 {
			t.Errorf("%s: %d bars as high as the picture", list[i].Call, highest)
		}
	}
	fsync, getppid := bars.FindStringSubmatch(string(list[0].Picture)), bars.FindStringSubmatch(string(list[2].Picture))
	if len(fsync[1]) < 5 || fsync[1] < "50" || getppid[1] > "6" {
		t.Errorf("fsync begins at %s %%, getppid at %s %%", fsync[1], getppid[1])
	}
	if callPictures("a", runtest.Sample().Results[0].Variants[1].Trace) != nil {
		t.Error("what was not timed is drawn")
	}
}

// Nothing of a trace may become markup or move a cursor.
func TestTraceIsCleaned(t *testing.T) {
	const evil = "a<img src=x>\x1b]0;x\x07"
	r := runtest.Sample()
	r.Results = r.Results[:1]
	r.Results[0].Variants[0].Trace = &run.VariantTrace{
		Blocks: 1, ChainBlocks: 1, Source: evil, Missing: map[string]run.Reason{evil: {Code: run.ReasonText, Text: evil}},
		Calls: []run.CallLatency{{Call: evil, Count: 1, Buckets: []run.CallBucket{{From: 1, To: 2, Count: 1}}}},
		Chains: []run.ChainShare{{Share: 1, Kernel: []run.KernelShare{{Cause: evil, Share: 1}},
			Chain: run.Chain{Links: []run.Link{{Who: evil, How: evil, In: evil, By: evil}, {Who: evil, How: run.HowSyscall, In: evil, Call: evil}}}}},
	}
	for kind, text := range written(t, r) {
		if kind == "color" {
			continue
		}
		if strings.ContainsAny(text, "\x1b\x07") || kind != "text" && kind != "details" && strings.Contains(text, "<img") {
			t.Errorf("%s: markup or a control character got through", kind)
		}
	}
}
