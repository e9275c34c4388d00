package main

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

// rawFlags are the flags that go with --raw only.
type rawFlags struct {
	mode    string
	pad     string
	reserve string
}

func (w *rawFlags) flags(f *pflag.FlagSet, verb notice.Verb) {
	f.StringVar(&w.mode, "mode", "atomic", "with --raw: atomic (a new file takes the name) or inplace (the file stays the same)")
	f.StringVar(&w.pad, "pad", "", "with --raw: fill up with `BYTE` (newline, space or zero) where that is faster")
	if verb == notice.Insert {
		f.StringVar(&w.reserve, "reserve", "", "with --raw: first make room for headers of `SIZE` in all; needs --pad")
	}
}

func (w *rawFlags) has(flag string) bool {
	return slices.Contains([]string{"mode", "pad", "reserve"}, flag)
}

// checkRaw refuses flags that are about comments.
func (h *headerFlags) checkRaw(f *pflag.FlagSet, given bool) error {
	var err error
	f.Visit(func(fl *pflag.Flag) {
		if !h.rawFlags.has(fl.Name) && !slices.Contains([]string{"raw", "text", "file", "json", "level", "keep-times", "lock-timeout"}, fl.Name) {
			err = fmt.Errorf("--%s does not go with --raw", fl.Name)
		}
	})
	switch {
	case err != nil:
		return err
	case h.verb == notice.Remove && given:
		return errors.New("remove --raw takes out what was recorded; it takes no text")
	case h.verb != notice.Remove && !given:
		return errors.New("want the bytes: --text or --file")
	case h.reserve != "" && h.pad == "":
		return errors.New("--reserve needs --pad: what the room is filled with")
	}
	return nil
}

// options turns the flags into those of the package header.
func (w *rawFlags) options() (o header.Options, reserve int64, err error) {
	switch w.mode {
	case "atomic":
	case "inplace":
		o.Mode = header.InPlace
	default:
		return o, 0, fmt.Errorf("--mode %s: want atomic or inplace", w.mode)
	}
	if w.pad != "" {
		b, ok := map[string]byte{"newline": '\n', "space": ' ', "zero": 0}[w.pad]
		if !ok {
			return o, 0, fmt.Errorf("--pad %s: want newline, space or zero", w.pad)
		}
		o.Pad = header.PadByte(b)
	}
	if w.reserve != "" {
		if reserve, err = parseSize(w.reserve); err != nil {
			return o, 0, fmt.Errorf("--reserve: %w", err)
		}
	}
	return o, reserve, nil
}

// A rawResult is what the package header says of a change.
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
			err = errors.New("the header is empty")
		}
		if h.file == "" {
			data += "\n" // a line is a line
		}
	}
	if err != nil {
		return usageError(stderr, "header "+string(h.verb), exitUsage, err)
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

var rawStates = map[notice.Verb]notice.State{notice.Insert: notice.Inserted, notice.Replace: notice.Replaced, notice.Remove: notice.Removed}

// rawReport works on the paths one after the other and prints what the package
// says of each.
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
