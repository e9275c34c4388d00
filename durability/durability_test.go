package durability_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stele-go/stele/durability"
)

func Example() {
	var p durability.Promise // not set: the safe one
	fmt.Println(p, "-", p.Level.Survives())
	// Output: power, old-or-new - survives a power cut
}

func TestTextRoundTrip(t *testing.T) {
	for _, l := range []durability.Level{durability.Power, durability.Kill, durability.None} {
		for _, a := range []durability.After{durability.OldOrNew, durability.Prefix, durability.Torn} {
			want := durability.Promise{Level: l, After: a}
			b, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			var got durability.Promise
			if err := json.Unmarshal(b, &got); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("%s came back as %v, want %v", b, got, want)
			}
		}
	}
}

func TestUnknown(t *testing.T) {
	var l durability.Level
	if err := l.UnmarshalText([]byte("sometimes")); err == nil {
		t.Error(`UnmarshalText("sometimes") gave no error`)
	}
	if _, err := durability.Level(9).MarshalText(); err == nil {
		t.Error("MarshalText of an undefined level gave no error")
	}
	if got := durability.After(9).String(); got != "durability.After(9)" {
		t.Errorf("String of an undefined After is %q", got)
	}
}
