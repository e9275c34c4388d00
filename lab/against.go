package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/lab/run"
)

// blockProtocol is the version of what the runner and the process of a block say to
// each other. It grows when a program of the older version would misread the newer.
const blockProtocol = 1

// A greeting is the answer of a program that is asked which blocks it runs.
type greeting struct {
	Protocol    int                 `json:"lab_protocol"`
	Version     string              `json:"stele_version"`
	Build       *run.Build          `json:"build,omitempty"`
	Experiments []greetedExperiment `json:"experiments"`
}

type greetedExperiment struct {
	ID       string           `json:"id"`
	Variants []greetedVariant `json:"variants"`
}

type greetedVariant struct {
	Name    string `json:"name"`
	Promise string `json:"promise"`
}

// greet is the answer of this program.
func greet(experiments []Experiment) greeting {
	g := greeting{Protocol: blockProtocol, Version: Version(), Build: build(), Experiments: []greetedExperiment{}}
	for i := range experiments {
		e := greetedExperiment{ID: experiments[i].ID()}
		for _, v := range experiments[i].Variants {
			e.Variants = append(e.Variants, greetedVariant{v.Name, v.Promise.String()})
		}
		g.Experiments = append(g.Experiments, e)
	}
	return g
}

// greetingTime bounds the answer of a program: one that does not call IsBlock first
// begins its own work instead.
const greetingTime = 20 * time.Second

// askProgram asks another program which blocks it runs. It gets the environment of the
// blocks of the experiments: it may have an experiment from there.
func askProgram(ctx context.Context, program string, experiments []Experiment) (*greeting, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, greetingTime, fmt.Errorf("no answer within %v; want a program that asks lab.IsBlock first and then calls lab.RunBlock", greetingTime))
	defer cancel()
	cmd, err := blockCommand(ctx, program, blockSpec{Greet: true})
	if err != nil {
		return nil, err
	}
	for i := range experiments {
		cmd.Env = append(cmd.Env, experiments[i].Env...)
	}
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w: %s; want a program built with this version of the lab that calls lab.RunBlock", err, tail(diag.String()))
	}
	var g greeting
	if err := json.Unmarshal(out.Bytes(), &g); err != nil || g.Protocol == 0 {
		return nil, fmt.Errorf("it is no program of the lab: it answers %.60q; want one that asks lab.IsBlock first and then calls lab.RunBlock", tail(out.String()))
	}
	if g.Protocol != blockProtocol {
		return nil, fmt.Errorf("it speaks version %d of the blocks' protocol; want %d: build both programs with one version of the lab", g.Protocol, blockProtocol)
	}
	return &g, nil
}

// openAgainst asks the program of Options.Against for its variants, and notes those
// that the experiments do not share with it.
func (r *runner) openAgainst(ctx context.Context, experiments []Experiment) error {
	if r.o.Against == "" {
		return nil
	}
	if r.o.InProcess {
		return setting.Wrong("lab: Options.Against", r.o.Against, "none with InProcess: blocks of another program are processes")
	}
	program, err := findProgram(r.o.Against)
	if err != nil {
		return fmt.Errorf("lab: Options.Against: %s: %w", r.o.Against, err)
	}
	g, err := askProgram(ctx, program, experiments)
	if err != nil {
		return fmt.Errorf("lab: Options.Against: %s: %w", r.o.Against, err)
	}
	r.against = &against{program: program, variants: map[string]map[string]bool{}}
	note := &run.Against{Program: r.o.Against, Version: g.Version, Build: g.Build, Missing: []run.Mismatch{}}
	r.run.Against = note
	theirs := map[string][]greetedVariant{}
	for _, e := range g.Experiments {
		theirs[e.ID] = e.Variants
	}
	shared := 0
	for i := range experiments {
		e := &experiments[i]
		names := r.against.share(e, theirs[e.ID()], note)
		shared += len(names)
		r.against.variants[e.ID()] = names
	}
	if shared == 0 {
		return setting.Wrong("lab: Options.Against", r.o.Against, "a program with at least one variant of the experiments to be measured")
	}
	return nil
}

// against is the other program of a run.
type against struct {
	program  string
	variants map[string]map[string]bool // by experiment, those that it has
}

// share returns the names of the variants of e that both programs have, and notes the
// others and those that promise something else.
func (a *against) share(e *Experiment, theirs []greetedVariant, note *run.Against) map[string]bool {
	names := map[string]bool{}
	for _, t := range theirs {
		v := e.Variant(t.Name)
		if v == nil {
			note.Missing = append(note.Missing, run.Mismatch{Code: run.MismatchMissing, Experiment: e.ID(), Variant: t.Name})
			continue
		}
		names[t.Name] = true
		if p := v.Promise.String(); p != t.Promise {
			note.Missing = append(note.Missing, run.Mismatch{Code: run.MismatchPromise, Experiment: e.ID(), Variant: t.Name, Old: t.Promise, New: p})
		}
	}
	for i := range e.Variants {
		if name := e.Variants[i].Name; !names[name] {
			note.Missing = append(note.Missing, run.Mismatch{Code: run.MismatchAdded, Experiment: e.ID(), Variant: name})
		}
	}
	return names
}

// lanes returns the lanes of the other program beside those of this one: the same
// variants, with the same numbers of operations.
func (a *against) lanes(e *Experiment, lanes []*lane) []*lane {
	if a == nil {
		return nil
	}
	var other []*lane
	for _, l := range lanes {
		if l.role == run.RoleTimed && !l.failed && a.variants[e.ID()][l.v.Name] {
			c := *l
			c.program = a.program
			other = append(other, &c)
		}
	}
	return other
}

// againstRole is the role under which a block of the other program is kept. Its process
// runs it as it runs its own.
func againstRole(role string) string {
	if role == run.RoleCounted {
		return run.RoleAgainstCounted
	}
	return run.RoleAgainst
}

// findProgram returns the absolute path of a program: blocks run in other
// directories. Unlike exec.LookPath it takes a name without a slash for a file of the
// current directory first.
func findProgram(name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && filepath.Base(name) == name:
		found, lookErr := exec.LookPath(name)
		if lookErr != nil {
			return "", err
		}
		return filepath.Abs(found)
	case err != nil:
		return "", err
	case st.IsDir():
		return "", errors.New("it is a directory; want a program")
	}
	return path, nil
}
