package logstore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore"
)

// Everything is compared with the reference, so the reference itself is tested
// by hand.

func TestExplain(t *testing.T) {
	l := logstore.MustLabels("app", "x")
	entry := func(c rune) refEntry {
		return refEntry{labels: l, time: int64(c &^ 0x20), line: string(c | 0x20), unsure: c < 'a'}
	}
	entries := func(s string) (list []refEntry) {
		for _, c := range s {
			list = append(list, entry(c))
		}
		return list
	}
	// Entries in capitals may be missing.
	for _, c := range []struct {
		want, found string
		limit       int
		missing     []int
		wrong       bool
	}{
		{want: "", found: ""},
		{want: "abc", found: "abc"},
		{want: "abc", found: "ab", wrong: true},
		{want: "abc", found: "acb", wrong: true},
		{want: "abc", found: "abcc", wrong: true},
		{want: "abc", found: "abx", wrong: true},
		{want: "abc", found: "ab", limit: 2},
		{want: "abc", found: "abc", limit: 2, wrong: true},
		{want: "abc", found: "a", limit: 2, wrong: true},
		{want: "aBc", found: "ac", missing: []int{1}},
		{want: "aBc", found: "abc"},
		{want: "aBc", found: "ac", limit: 2, missing: []int{1}},
		{want: "aBc", found: "ab", limit: 2},
		{want: "Aab", found: "ab", missing: []int{0}}, // and not: the second a, and then nothing fits
		{want: "Aab", found: "aab"},
		{want: "Aaa", found: "a", wrong: true},
		{want: "ABABb", found: "bab", missing: []int{0, 4}},
		{want: "ABC", found: "", missing: []int{2, 1, 0}},
	} {
		found := entries(c.found)
		missing, err := explain(entries(c.want), func(e refEntry) bool { return e.unsure }, found, c.limit)
		if (err != nil) != c.wrong {
			t.Errorf("%q found as %q, limit %d: %v", c.want, c.found, c.limit, err)
		}
		if c.want == "ABABb" && !c.wrong {
			continue // several explanations are right
		}
		if slices.Reverse(missing); !c.wrong && !sameNumbers(missing, c.missing) {
			t.Errorf("%q found as %q, limit %d: %v are missing, want %v", c.want, c.found, c.limit, missing, c.missing)
		}
	}
}

func sameNumbers(a, b []int) bool {
	slices.Sort(a)
	b = slices.Clone(b)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func TestReferenceRefuses(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixNano()
	l := logstore.MustLabels("app", "x")
	r := newReference(logstore.Options{Retention: 2 * time.Hour, MaxLine: 3})
	at := func(ago time.Duration, line string) logstore.Entry {
		return logstore.Entry{Time: now - int64(ago), Line: []byte(line)}
	}
	first := logstore.Batch{{Labels: l, Entries: []logstore.Entry{at(0, "abc"), at(time.Hour, "b"), at(time.Hour+1, "c")}}}
	rejection := logstore.LateRejection(0, 2, now-int64(time.Hour)-1)
	if err := r.append("", first, nil, now); err == nil {
		t.Error("an entry that is too old for its stream was accepted, and nothing said")
	}
	r = newReference(r.o)
	if err := r.append("", first, &logstore.RejectedError{Accepted: 2, Rejected: []logstore.Rejection{rejection}}, now); err != nil || len(r.entries) != 2 {
		t.Errorf("%d entries, %v", len(r.entries), err)
	}
	for _, c := range []struct {
		entry  logstore.Entry
		labels logstore.Labels
		want   error
	}{
		{at(-10*time.Minute, ""), l, nil},
		{at(-10*time.Minute-1, ""), l, logstore.ErrFuture},
		{at(2*time.Hour+1, ""), l, logstore.ErrExpired},
		{at(2*time.Hour, ""), logstore.MustLabels("app", "new"), nil},
		{at(0, "abcd"), l, logstore.ErrTooLong},
		{logstore.Entry{Time: -1}, l, logstore.ErrTooOld},
		{at(0, ""), logstore.Labels{}, logstore.ErrLabels},
	} {
		if reason, sure := r.refusal(refStream{"", c.labels}, c.entry, now); reason != c.want || sure != (c.want != nil) {
			t.Errorf("%v %v: %v, sure %t, want %v", c.labels, c.entry, reason, sure, c.want)
		}
	}
}

func TestContainsWord(t *testing.T) {
	for _, c := range []struct {
		line, text string
		want       bool
	}{
		{"a get b", "get", true}, {"target", "get", false}, {"get", "get", true}, {"get.", "get", true},
		{"target get", "get", true}, {"gets", "get", false}, {"用get", "get", true}, {"用户登录", "登录", true}, {"用户", "\xe6", false}, {"éget", "get", false}, {"get\u0301", "get", false}, {"", "", true},
	} {
		if got := containsWord(c.line, c.text); got != c.want {
			t.Errorf("the word %q in %q: %t", c.text, c.line, got)
		}
	}
	if !containsFold("x STRAßE", "straße") || containsFold("strasse", "straße") || !containsFold("ſ", "S") {
		t.Error("containsFold does not fold runes one by one")
	}
}
