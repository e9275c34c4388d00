package claims

import (
	"errors"
	"fmt"
	"os"

	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
)

func claimD8() Claim {
	perms := []os.FileMode{0o700, 0o711, 0o750, 0o755, 0o777}
	return Claim{
		ID: "D8",
		Source: reportD.source("2.1, Key parameters",
			"os.MkdirAll applies perm to the last directory only; those between always get 0755."),
		Statement:   "permission of the intermediate directories that os.MkdirAll makes",
		Claimed:     "always 0755 whatever perm says",
		Promise:     killText,
		Experiments: experiments(d8, perms...),
		judge:       func(ev *evidence) judgement { return judgeD8(ev, perms) },
	}
}

func d8(p os.FileMode) lab.Experiment {
	return lab.Experiment{
		Suite: "claims", Name: "D8", Params: run.Params{"perm": fmt.Sprintf("%04o", p)},
		Question: "Which permission do intermediate directories get?",
		Op:       "one path of 3 new levels", Ops: 1,
		Variants: []lab.Variant{{
			Name: variantAll, Doc: "the standard library", Promise: kill, Baseline: true,
			Run: inDir(func(b *lab.B) error {
				for b.Loop() {
					if err := os.MkdirAll("a/b/c", p); err != nil {
						return err
					}
				}
				// The mode of a directory made with 0777 shows the umask. To read it by
				// umask(2) would change it for the whole process.
				if err := os.Mkdir("umask", 0o777); err != nil {
					return err
				}
				return errors.Join(reportMode(b, "mode_of_first_level", "a"), reportMode(b, "mode_of_second_level", "a/b"),
					reportMode(b, "mode_of_0777", "umask"))
			}),
		}},
	}
}

func reportMode(b *lab.B, metric, path string) error {
	info, err := os.Stat(path)
	if err == nil {
		b.Report(metric, float64(info.Mode().Perm()))
	}
	return err
}

func judgeD8(ev *evidence, perms []os.FileMode) judgement {
	var text string
	always, asAsked, umask := true, true, os.FileMode(0)
	for _, p := range perms {
		mode := func(metric string) os.FileMode {
			return os.FileMode(ev.metric(idOf(d8(p)), variantAll, metric).Median)
		}
		one, two := mode("mode_of_first_level"), mode("mode_of_second_level")
		umask = 0o777 &^ mode("mode_of_0777")
		text += fmt.Sprintf("perm %04o: %04o and %04o. ", p, one, two)
		always = always && one == 0o755 && two == 0o755
		asAsked = asAsked && one == p&^umask && two == p&^umask
	}
	text += fmt.Sprintf("The umask is %04o.", umask)
	switch {
	case always:
		return ruled(text, Holds, "every intermediate directory has 0755")
	case asAsked:
		return ruled(text, DoesNotHold, "intermediate directories get perm less the umask, like the last one; 0755 is 0777 less the usual umask of 0022")
	}
	return ruled(text, DoesNotHold, "intermediate directories are neither always 0755 nor always perm less the umask")
}
