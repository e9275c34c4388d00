package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
	"github.com/stele-go/stele/internal/setting"
)

// exportSchema names the layout of the state of an export.
const exportSchema = "stele.export/1"

// An exportState is the content of FILE.part.state: which export FILE.part belongs to,
// and how much of it is complete. It is written before FILE.part is emptied, so the two
// always belong together.
type exportState struct {
	Schema   string `json:"schema"`
	Query    string `json:"query"`
	Tenant   string `json:"tenant,omitempty"`
	Since    string `json:"since"` // as given, as are From and To
	From     string `json:"from,omitempty"`
	To       string `json:"to"`
	Limit    int    `json:"limit,omitempty"`
	Format   string `json:"format"`
	Compress string `json:"compress"`

	Start    int64  `json:"start,string"` // the range of the first call, in ns since the Unix epoch
	End      int64  `json:"end,string"`
	Bytes    int64  `json:"bytes"` // of FILE.part that are complete
	Lines    int64  `json:"lines"` // in them
	Cursor   string `json:"cursor,omitempty"`
	Complete bool   `json:"complete,omitempty"` // FILE.part is about to become FILE
}

func partOf(name string) string  { return name + ".part" }
func stateOf(name string) string { return partOf(name) + ".state" }

// newExportState returns the state of an export that begins.
func newExportState(x *exportFlags, ask *lokiclient.Export) exportState {
	return exportState{
		Schema: exportSchema, Query: ask.Query, Tenant: x.tenant, Since: x.since, From: x.from, To: x.to, Limit: x.limit,
		Format: x.output, Compress: x.compress, Start: ask.Start, End: ask.End,
	}
}

// check returns an error for the first flag of a call with --resume that is not what it was
// in the call that began the export.
func (s *exportState) check(now *exportState) error {
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"QUERY", now.Query, s.Query}, {"--tenant", now.Tenant, s.Tenant},
		{"--since", now.Since, s.Since}, {"--from", now.From, s.From}, {"--to", now.To, s.To}, {"--limit", now.Limit, s.Limit},
		{"--output", now.Format, s.Format}, {"--compress", now.Compress, s.Compress},
	} {
		if f.got != f.want {
			want := fmt.Sprint(f.want)
			if text, ok := f.want.(string); ok {
				want = fmt.Sprintf("%q", text)
			}
			return setting.Wrong(f.name, f.got, "%s, as in the call that --resume goes on with", want)
		}
	}
	return nil
}

func readExportState(name string) (s exportState, err error) {
	data, err := os.ReadFile(stateOf(name))
	if errors.Is(err, os.ErrNotExist) {
		return s, fmt.Errorf("--resume: nothing to go on with; want the same call without it: %w", err)
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil || s.Schema != exportSchema {
		return s, fmt.Errorf("--resume: %s: schema %q, %v; want %q", stateOf(name), s.Schema, err, exportSchema)
	}
	return s, nil
}

// write replaces the state of a file. It survives a power cut.
func (s *exportState) write(name string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(stateOf(name), append(data, '\n'), 0o666)
}

// beginExport opens FILE.part, empty.
func beginExport(name string, state *exportState) (*os.File, error) {
	if err := state.write(name); err != nil {
		return nil, err
	}
	return os.OpenFile(partOf(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// resumeExport opens FILE.part at the end of what is complete, and reads state. The file is
// nil if all is complete, and then FILE is there.
func resumeExport(name string, state *exportState) (*os.File, error) {
	old, err := readExportState(name)
	if err != nil {
		return nil, err
	}
	if err := old.check(state); err != nil {
		return nil, err
	}
	*state = old
	part, err := os.Stat(partOf(name))
	if errors.Is(err, os.ErrNotExist) && state.Complete {
		return nil, endExport(name, state, true)
	}
	if err != nil {
		return nil, err
	}
	if part.Size() < state.Bytes {
		return nil, fmt.Errorf("--resume: %s: %d bytes, of which %s says that %d are complete; want it as it was, or the same call without --resume",
			partOf(name), part.Size(), stateOf(name), state.Bytes)
	}
	if state.Complete {
		return nil, endExport(name, state, false)
	}
	f, err := os.OpenFile(partOf(name), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(state.Bytes); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(state.Bytes, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// endExport gives FILE.part its name, unless it has it, and removes the state after that.
func endExport(name string, state *exportState, renamed bool) error {
	if renamed {
		if st, err := os.Stat(name); err != nil || st.Size() != state.Bytes {
			return fmt.Errorf("--resume: neither %s nor %s has the %d bytes of the export; want the same call without --resume", partOf(name), name, state.Bytes)
		}
	} else if err := os.Rename(partOf(name), name); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(name)); err != nil {
		return err
	}
	if err := os.Remove(stateOf(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// syncDir makes the names of a directory durable, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrInvalid) && !errors.Is(err, os.ErrPermission) {
		return err
	}
	return nil
}
