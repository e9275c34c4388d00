package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/stele-go/stele/lab"
)

func versionCommand(_ context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele version", "Usage: stele version\n\nPrints the version of Stele and the version of Go it was built with.\n")
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	if err := argCount(f, "version", 0, 0); err != nil {
		return usageError(stderr, "stele version", exitUsage, err)
	}
	fmt.Fprintln(stdout, "stele", lab.Version())
	return exitOK
}
