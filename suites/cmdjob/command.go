package cmdjob

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/suites/job"
)

// specEnv has the Spec for the process of a block, as JSON.
const specEnv = "STELE_COMMANDS"

// dirEnv has the directory of a run, in the environment of a command.
const dirEnv = "STELE_DIR"

// A Command is one that is measured.
type Command struct {
	Name    string `json:"name"`
	Line    string `json:"line"`
	Prepare string `json:"prepare,omitempty"` // before each run, untimed
	Cleanup string `json:"cleanup,omitempty"` // after each run, untimed
	// What Try saw.
	Kept Kept `json:"kept"`
}

// Kept is what survives of the writes of a command, so far as its system calls show.
type Kept struct {
	Writes bool   `json:"writes"`
	Synced bool   `json:"synced"`
	Text   string `json:"text"` // one clause
	// MaxRSS is the largest resident memory of a process of the run, in bytes; 0 where
	// it is not known.
	MaxRSS int64 `json:"max_rss,omitempty"`
}

// A Spec is commands and how they are run.
type Spec struct {
	Commands []Command `json:"commands"`
	// NoShell splits each line at spaces outside of quotes, in place of sh -c.
	NoShell       bool  `json:"no_shell,omitempty"`
	IgnoreFailure bool  `json:"ignore_failure,omitempty"` // of the command's exit code
	Ops           int64 `json:"ops,omitempty"`            // runs in a block; 0 has a pilot choose
}

// FromEnv returns the experiment that a Spec in the environment describes. ok reports
// whether the environment has a Spec.
func FromEnv() (e lab.Experiment, ok bool, err error) {
	text, ok := os.LookupEnv(specEnv)
	if !ok {
		return e, false, nil
	}
	var s Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return e, true, fmt.Errorf("cmdjob: read %s: %w", specEnv, err)
	}
	e, err = s.Experiment()
	return e, true, err
}

// Validate returns the errors of commands that cannot be run.
func (s Spec) Validate() error {
	var errs []error
	seen := map[string]bool{}
	if len(s.Commands) == 0 {
		errs = append(errs, setting.Wrong("COMMAND", setting.Text("none"), "one or more, each in quotes"))
	}
	for _, c := range s.Commands {
		if seen[c.Name] {
			errs = append(errs, setting.Wrong("name", c.Name, "each name once"))
		}
		seen[c.Name] = true
		for _, line := range []string{c.Line, c.Prepare, c.Cleanup} {
			if line == "" && line != c.Line {
				continue
			}
			if _, err := s.argv(line); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Experiment returns the experiment of the commands. Its blocks get the Spec by their
// environment.
func (s Spec) Experiment() (lab.Experiment, error) {
	if err := s.Validate(); err != nil {
		return lab.Experiment{}, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return lab.Experiment{}, err
	}
	e := lab.Experiment{
		Suite: "cmd", Name: "commands", Stateless: true, Ops: s.Ops,
		Question: "Which command is faster?", Op: "one run of the command, in a fresh directory",
		Env: []string{specEnv + "=" + string(text)},
	}
	if len(s.Commands) == 1 {
		e.Question = "How fast is the command?"
	}
	for i := range s.Commands {
		e.Variants = append(e.Variants, s.variant(&s.Commands[i]))
	}
	return e, nil
}

func (s Spec) variant(c *Command) lab.Variant {
	v := lab.Variant{Name: c.Name, Doc: c.Kept.Text + " (derived from the system calls of one run)", Promise: job.NothingWritten()}
	if c.Line != c.Name {
		v.Doc = c.Line + ": " + v.Doc
	}
	switch {
	case c.Kept.Synced:
		v.Promise = job.Promise(durability.Power, durability.Torn)
	case c.Kept.Writes:
		v.Promise = job.Promise(durability.Kill, durability.Torn)
	}
	v.Run = func(b *lab.B) error { return s.block(b, c) }
	return v
}

// argv returns the program of a line and its arguments, with its name.
func (s Spec) argv(line string) ([]string, error) {
	if strings.TrimSpace(line) == "" {
		return nil, setting.Wrong("COMMAND", line, "a command")
	}
	args := []string{"sh", "-c", line}
	if s.NoShell {
		var err error
		if args, err = split(line); err != nil {
			return nil, err
		}
	}
	// A run has a directory of its own, and a relative path is one from here.
	path, err := exec.LookPath(args[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, fmt.Errorf("cmdjob: %q: %w", line, err)
	}
	return append([]string{path}, args[1:]...), nil
}

// split splits a line at spaces outside of quotes, ' or ". A backslash outside of '
// keeps the character after it.
func split(line string) ([]string, error) {
	var args []string
	var word strings.Builder
	in, quote := false, rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			in, escaped = true, true
		case r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			in, quote = true, r
		case r == ' ' || r == '\t' || r == '\n':
			if in {
				args = append(args, word.String())
				word.Reset()
			}
			in = false
		default:
			in = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, setting.Wrong("COMMAND", line, "a closing quote, and a character after each backslash")
	}
	if in {
		args = append(args, word.String())
	}
	return args, nil
}

// unsyncedText words files that were not synced.
func unsyncedText(names []string, dir string) string {
	short := make([]string, len(names))
	for i, n := range names {
		if rel, err := filepath.Rel(dir, n); err == nil && filepath.IsLocal(rel) {
			n = rel
		}
		short[i] = n
	}
	if len(short) <= 2 {
		return "never synced: " + strings.Join(short, ", ")
	}
	return "never synced: " + short[0] + " and " + units.Count(len(short)-1, "other file")
}
