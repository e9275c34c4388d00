package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
	"github.com/stele-go/stele/header/notice"
)

// rawFlags are the flags for --raw only.
type rawFlags struct {
	mode    string
	pad     string
	reserve string
}

func (w *rawFlags) flags(f *pflag.FlagSet, verb notice.Action) {
	f.StringVar(&w.mode, "mode", "atomic", "with --raw: `MODE` is atomic (a new file replaces the old) or inplace (the inode stays)")
	f.StringVar(&w.pad, "pad", "", "with --raw: pad the header with `BYTE` (newline, space or zero) where that is faster")
	if verb == notice.Insert {
		f.StringVar(&w.reserve, "reserve", "", "with --raw: first reserve space for headers of `SIZE` in all; needs --pad")
	}
}

func (w *rawFlags) has(flag string) bool {
	return slices.Contains([]string{"mode", "pad", "reserve"}, flag)
}

// checkRaw refuses flags for comments.
func (h *headerFlags) checkRaw(f *pflag.FlagSet, given bool) error {
	var err error
	f.Visit(func(fl *pflag.Flag) {
		if !h.rawFlags.has(fl.Name) && !slices.Contains([]string{"raw", "text", "file", "json", "level", "keep-times", "lock-timeout"}, fl.Name) {
			err = fmt.Errorf("--%s and --raw: want one of them", fl.Name)
		}
	})
	switch {
	case err != nil:
		return err
	case h.verb == notice.Remove && given:
		return errors.New("--raw: a text; want no text: remove takes the recorded header")
	case h.verb != notice.Remove && !given:
		return errors.New("no text; want --text or --file")
	case h.reserve != "" && h.pad == "":
		return errors.New("--reserve: no --pad; want the BYTE to fill the reserved space with")
	}
	return nil
}

// options returns the options of package header.
func (w *rawFlags) options() (o header.Options, reserve int64, err error) {
	if err := oneOf("--mode", w.mode, "atomic", "inplace"); err != nil {
		return o, 0, err
	}
	if w.mode == "inplace" {
		o.Mode = header.InPlace
	}
	if w.pad != "" {
		if err := oneOf("--pad", w.pad, "newline", "space", "zero"); err != nil {
			return o, 0, err
		}
		o.Pad = header.PadByte(map[string]byte{"newline": '\n', "space": ' ', "zero": 0}[w.pad])
	}
	if w.reserve != "" {
		if reserve, err = sizeFlag("--reserve", w.reserve); err != nil {
			return o, 0, err
		}
	}
	return o, reserve, nil
}

// A rawResult is the result of package header for one change.
type rawResult struct {
	Strategy string             `json:"strategy"`
	Why      string             `json:"why,omitempty"`
	Promise  durability.Promise `json:"promise"`
	Header   int64              `json:"header_bytes"`
	Pad      int64              `json:"pad_bytes"`
	Moved    int64              `json:"moved_bytes"`
}

func (h *headerFlags) runRaw(ctx context.Context, paths []string, level durability.Level, stdin io.Reader, stdout, stderr io.Writer) int {
	o, reserve, err := h.rawFlags.options()
	var data string
	if err == nil && h.verb != notice.Remove {
		if data, err = h.readText(stdin); err == nil && data == "" {
			err = errors.New("the text is empty; want the bytes of the header")
		}
		if h.file == "" {
			data += "\n" // a line is a line
		}
	}
	if err != nil {
		return usageError(stderr, "stele header "+string(h.verb), exitUsage, err)
	}
	o.Level, o.KeepTimes, o.LockWait = level, h.keepTimes, h.lockWait
	return h.rawReport(ctx, paths, level, stdout, stderr, func(ctx context.Context, path string) (header.Result, error) {
		switch h.verb {
		case notice.Replace:
			return header.Replace(ctx, path, []byte(data), o)
		case notice.Remove:
			return header.Remove(ctx, path, o)
		}
		if reserve > 0 {
			if res, err := header.Reserve(ctx, path, reserve, o); err != nil {
				return res, err
			}
		}
		return header.Insert(ctx, path, []byte(data), o)
	})
}

var rawStates = map[notice.Action]notice.State{notice.Insert: notice.Inserted, notice.Replace: notice.Replaced, notice.Remove: notice.Removed}

// rawReport changes one path after the other and prints the result for each.
func (h *headerFlags) rawReport(ctx context.Context, paths []string, level durability.Level, stdout, stderr io.Writer, do func(ctx context.Context, path string) (header.Result, error)) int {
	var files []outcome
	for _, path := range paths {
		f := outcome{Path: path, State: stateNotBegun}
		if ctx.Err() == nil {
			res, err := do(ctx, path)
			f.State = rawStates[h.verb]
			if err != nil {
				f.State, f.Error, f.interrupted = stateFailed, err.Error(), errors.Is(err, context.Canceled)
			} else {
				f.Result = &rawResult{res.Strategy.String(), res.Why, res.Promise, res.Header, res.Pad, res.Moved}
			}
		}
		files = append(files, f)
		if r := f.Result; r != nil && h.json == "" {
			fmt.Fprintf(stdout, "%s: %s by %s, header %d bytes, padding %d, content moved by %d; %s, a crash meanwhile leaves %s\n",
				path, f.State, r.Strategy, r.Header, r.Pad, r.Moved, r.Promise.Level.Survives(), r.Promise.After)
			if r.Why != "" {
				fmt.Fprintf(stdout, "  why: %s\n", r.Why)
			}
		}
	}
	if h.json == "" {
		stdout = io.Discard // printed, file by file
	}
	return h.report(ctx, files, level, stdout, stderr)
}
