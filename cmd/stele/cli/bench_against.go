package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/lab/report"
	"github.com/stele-go/stele/lab/run"
)

// benchCodes returns the exit codes of a wrong call and of a failure. With --against,
// bench is a gate, and has the codes of compare.
func benchCodes(args []string) (usage, failure int) {
	for _, a := range args {
		if a == "--against" || strings.HasPrefix(a, "--against=") {
			return run.Broken.ExitCode(), run.Broken.ExitCode()
		}
	}
	return exitUsage, exitFailed
}

// checkAgainst refuses a program that is not there, before files are laid out for it.
func (b *benchFlags) checkAgainst() error {
	if b.against == "" || b.list { // a list asks no program
		return nil
	}
	_, err := os.Stat(b.against)
	if err != nil && filepath.Base(b.against) == b.against {
		_, err = exec.LookPath(b.against)
	}
	if err != nil {
		return fmt.Errorf("--against: %q; want another build of this program: %w", b.against, err)
	}
	return nil
}

// finishAgainst writes every output of a run with two builds: the verdict of the gate is
// the text and the Markdown; the JSON has the whole run.
func (b *benchFlags) finishAgainst(measured *run.Run, text, stdout, stderr io.Writer) int {
	others := b.outputs
	others.markdown = ""
	written := others.write(measured, stdout)
	if b.markdown != "" {
		written = errors.Join(written, writeFile(b.markdown, stdout, func(w io.Writer) error { return report.ComparisonMarkdown(w, measured.Gate) }))
	}
	if written != nil {
		written = rescue(measured, written)
	}
	var shown error
	if b.details {
		shown = report.Text(text, measured, textOptions(text, true))
	}
	b.page(measured, written == nil, text, stderr)
	fmt.Fprintf(text, "old: %s\nnew: this program, %s\n\n", measured.Against, measured.Version)
	shown = errors.Join(shown, report.Comparison(text, measured.Gate))
	if err := errors.Join(written, shown); err != nil {
		complain(stderr, b.Name, err)
		return run.Broken.ExitCode()
	}
	if measured.Partial != nil {
		return exitInterrupted
	}
	code := measured.Gate.Outcome.ExitCode()
	// A way that only this program has is in no row of the gate.
	if failing := failures(measured); code == exitOK && len(failing) > 0 {
		complain(stderr, b.Name, errors.Join(failing...))
		return run.Broken.ExitCode()
	}
	return code
}
