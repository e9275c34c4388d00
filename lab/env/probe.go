package env

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab/run"
)

// ProbeSchema names the layout of Capabilities written as JSON. Fields and
// capabilities may be added without the number growing.
const ProbeSchema = "stele.probe/1"

// Capabilities lists the abilities of the file system under a directory.
type Capabilities struct {
	Schema       string          `json:"schema"`
	Environment  run.Environment `json:"environment"`
	Capabilities []Capability    `json:"capabilities"`
	Syncs        *Syncs          `json:"syncs,omitempty"` // what ProbeSyncs found
	Tree         *Tree           `json:"tree,omitempty"`  // what ProbeTree found
}

// Answers of a Capability.
const (
	Yes      = "yes"       // tried, and the result was looked at
	No       = "no"        // the kernel or the file system refused it, or did something else
	NotTried = "not tried" // or the try failed for another reason: see Detail
)

// A Capability is one operation or property that a file system may have.
type Capability struct {
	Name      string `json:"name"` // the kernel's own: "O_TMPFILE"
	Supported string `json:"supported"`
	Detail    string `json:"detail,omitempty"` // the refusal, or figures such as an alignment
	Doc       string `json:"doc"`              // its use
}

// Get returns the capability of that name.
func (c *Capabilities) Get(name string) (Capability, bool) {
	for _, one := range c.Capabilities {
		if one.Name == name {
			return one, true
		}
	}
	return Capability{}, false
}

// Probe tries the capabilities of the file system under dir on files of its own. They
// are in a directory stele-probe-*, which is removed. Files that need no name lose it
// at once, so that a killed process leaves at most a directory with a few files of a
// byte. Probe writes a few megabytes; its try of syncfs also writes all other data
// that the file system has waiting, which may take a while on a busy one.
//
// An error means that dir is missing, is not a directory or cannot be written to.
func Probe(dir string) (*Capabilities, error) {
	if fi, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("env: probe: %w", err)
	} else if !fi.IsDir() {
		return nil, fmt.Errorf("env: probe: %s is not a directory; want one", dir)
	}
	own, err := os.MkdirTemp(dir, "stele-probe-")
	if err != nil {
		return nil, fmt.Errorf("env: probe: make a directory in %s: %w", dir, err)
	}
	defer os.RemoveAll(own)
	c := &Capabilities{Schema: ProbeSchema, Environment: Read(dir)}
	for _, t := range tries {
		c.Capabilities = append(c.Capabilities, t.run(own))
	}
	return c, os.RemoveAll(own)
}

// A try tests one capability in a directory of its own.
type try struct {
	name, doc string
	linux     bool // exists on Linux only
	f         func(dir string) (detail string, err error)
}

// errWrong is the answer "no" of a call that succeeded with a wrong result.
type errWrong string

func (e errWrong) Error() string { return string(e) }

// errNot is a reason why a capability could not be tried.
type errNot string

func (e errNot) Error() string { return string(e) }

func (t try) run(own string) Capability {
	c := Capability{Name: t.name, Doc: t.doc, Supported: NotTried}
	if t.linux && runtime.GOOS != "linux" {
		c.Detail = "Linux only"
		return c
	}
	dir, err := os.MkdirTemp(own, "")
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	defer os.RemoveAll(dir)
	c.Detail, err = t.f(dir)
	c.Supported, c.Detail = answer(c.Detail, err)
	return c
}

// answer distinguishes a refusal from a failure: a full disk or a filter on system
// calls says nothing about the file system.
func answer(detail string, err error) (supported, text string) {
	var wrong errWrong
	var not errNot
	switch {
	case err == nil:
		return Yes, detail
	case errors.As(err, &wrong):
		return No, err.Error()
	case errors.As(err, &not):
		return NotTried, err.Error()
	case sys.Absent(err):
		return No, named(err)
	}
	return NotTried, "the try failed: " + named(err)
}

// named puts the kernel's name of the error before its text.
func named(err error) string {
	if name := fileop.ErrName(err); name != "" {
		return name + ": " + err.Error()
	}
	return err.Error()
}

// Supports reports whether all of the named capabilities are supported.
func (c *Capabilities) Supports(names ...string) bool {
	for _, name := range names {
		if one, ok := c.Get(name); !ok || one.Supported != Yes {
			return false
		}
	}
	return true
}

// scratch makes a file in dir with the content, and removes its name. Where an open
// file cannot be removed it is removed with the directory.
func scratch(dir string, content []byte) (*os.File, error) {
	f, err := os.CreateTemp(dir, "")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name())
	if _, err := f.WriteAt(content, 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// blockLen is the length of the blocks that files are cut into for a try: a
// multiple of the block size of every file system that is in use.
const blockLen = 64 << 10

// blocks makes the content of a file: for each letter a block full of it,
// for a dot a block of zeros.
func blocks(pattern string) []byte {
	b := make([]byte, len(pattern)*blockLen)
	for i, c := range []byte(pattern) {
		if c == '.' {
			continue
		}
		block := b[i*blockLen : (i+1)*blockLen]
		for j := range block {
			block[j] = c
		}
	}
	return b
}

// mustHold compares the content of f with a pattern.
func mustHold(f *os.File, pattern string) error {
	want := blocks(pattern)
	got, err := io.ReadAll(io.NewSectionReader(f, 0, int64(len(want))+1))
	if err != nil {
		return err
	}
	if string(got) != string(want) {
		return errWrong("the call succeeded, but the content of the file is wrong")
	}
	return nil
}

// WriteText writes the capabilities as a table for people to read; package
// report writes the environment.
func (c *Capabilities) WriteText(w io.Writer) error {
	var b strings.Builder
	wide := 0
	for _, one := range c.Capabilities {
		wide = max(wide, len(one.Name))
	}
	b.WriteString("capabilities, tried on files in the directory\n")
	for _, one := range c.Capabilities {
		fmt.Fprintf(&b, "  %-*s  %-9s  %s\n", wide, one.Name, one.Supported, one.Doc)
		if one.Detail != "" {
			fmt.Fprintf(&b, "  %*s  %9s  %s\n", wide, "", "", one.Detail)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
