package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
)

// An output is a flag and its value: the name of a file to write, "-" for standard
// output, or "" for no output.
type output struct{ flag, name string }

// checkOutputs refuses two outputs to standard output, and a file that cannot be
// written: it makes each for a moment, under a temporary name. It reports whether one
// goes to standard output.
func checkOutputs(all ...output) (toStdout bool, err error) {
	used := ""
	for _, o := range all {
		switch o.name {
		case "":
		case "-":
			if used != "" {
				return true, fmt.Errorf("%s and %s: both are standard output (-); want a FILE for one of them", used, o.flag)
			}
			used = o.flag
		default:
			if err := writable(o.name); err != nil {
				return false, fmt.Errorf("%s: %q; want a FILE in a directory that can be written: %w", o.flag, o.name, err)
			}
		}
	}
	return used != "", nil
}

// outputOptions are those of an output: it need not survive a power cut.
func outputOptions() atomicfile.Options {
	return atomicfile.Options{Level: durability.Kill, Keep: atomicfile.KeepMode, Links: atomicfile.FollowLinks}
}

// writable returns the error that writeFile would return for a file of that name
// now. It opens neither a device nor a FIFO: a reader would notice.
func writable(name string) error {
	switch st, err := os.Stat(name); {
	case err == nil && st.IsDir():
		return &os.PathError{Op: "write", Path: name, Err: errors.New("a directory; want a file")}
	case err == nil && !st.Mode().IsRegular():
		return nil
	}
	f, err := atomicfile.Create(name, 0o666, outputOptions())
	if err != nil {
		return err
	}
	f.Abort()
	return nil
}

// writeFile writes to the named file, or to stdout for "-". A file appears
// under its name only once it is complete, with the permissions of the file that
// it replaces. A device or a FIFO is written to.
func writeFile(name string, stdout io.Writer, write func(io.Writer) error) error {
	if name == "-" {
		return write(stdout)
	}
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := atomicfile.Create(name, 0o666, outputOptions())
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := write(f); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return f.Commit()
}

// writeJSON writes v, indented, as writeFile does.
func writeJSON(name string, stdout io.Writer, v any) error {
	return writeFile(name, stdout, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	})
}
