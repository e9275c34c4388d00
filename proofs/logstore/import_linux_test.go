package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The proof of logstore.Import: after any crash or fault during an import the entries
// that it has reported are there, and the next import leaves each entry of the source
// there once, beside those that the store had before.

const (
	importLines  = 40_000 // three batches
	importOwn    = 3      // lines that the store has before, of which 0 is sealed
	importAtTime = 1000   // lines of equal time
	importDone   = -1     // in the ledger: the import is complete
	importTick   = -2     // a place for a kill; the other entries count lines
)

// importLine returns a line of the source. Lines have equal times, and equal
// lines are kept.
func importLine(i int) (logstore.Labels, logstore.Entry) {
	return logstore.MustLabels("app", strconv.Itoa(i%4)), logstore.Entry{Time: int64(i / importAtTime), Line: fmt.Appendf(nil, "source %d", i/2)}
}

// importTenants have half of the lines each, those of lower times the first one, and the
// same streams.
var importTenants = [2]string{"", "blue"}

func importTenant(i int) string { return importTenants[i*len(importTenants)/importLines] }

// prepareImport makes dir/src, the source, with a segment and a log, and dir/to, a
// store with lines of its own.
func prepareImport(dir string) error {
	return prepareImportWith(dir, func(int) logstore.Labels { return logstore.Labels{} })
}

// prepareImportWith is prepareImport with metadata for each line.
func prepareImportWith(dir string, metadata func(line int) logstore.Labels) error {
	ctx := context.Background()
	src, err := logstore.Open(filepath.Join(dir, "src"), keepingOptions())
	if err != nil {
		return err
	}
	for from := 0; from < importLines && err == nil; from += importLines / 4 {
		var b logstore.Batch
		for i := from; i < from+importLines/4; i++ {
			l, e := importLine(i)
			e.Metadata = metadata(i)
			b = append(b, logstore.Stream{Labels: l, Entries: []logstore.Entry{e}})
		}
		if _, err = src.AppendWith(ctx, b, logstore.AppendOptions{Tenant: importTenant(from)}); from == 0 {
			err = errors.Join(err, src.Seal(ctx))
		}
	}
	if err := errors.Join(err, src.Close()); err != nil {
		return err
	}
	to := filepath.Join(dir, "to")
	s, err := logstore.Open(to, keepingOptions())
	if err != nil {
		return err
	}
	for i := range importOwn {
		if err = errors.Join(err, s.Append(ctx, repairBatch(i))); i == 0 {
			err = errors.Join(err, s.Seal(ctx))
		}
	}
	// So the log of the import too syncs by a call that a mutant can leave out.
	profile, readErr := os.ReadFile("testdata/fdatasync.json")
	return errors.Join(err, readErr, os.WriteFile(filepath.Join(to, "stele-profile.json"), profile, 0o666), s.Close())
}

func importInto(dir string, ack func(int)) error {
	o := logstore.ImportOptions{Memory: 32 << 20, Progress: func(p logstore.ImportProgress) { ack(int(p.Entries)) }}
	_, err := logstore.Import(context.Background(), filepath.Join(dir, "to"), o, filepath.Join(dir, "src"))
	if err == nil {
		ack(importDone)
	}
	return err
}

// importAgain completes the import after a crash, and checks the result.
func importAgain(dir string, ledger []int) error { return checkImport(dir, ledger) }

// importLater opens and seals the store before it completes the import.
func importLater(dir string, ledger []int) error {
	s, err := openAfterCrash(filepath.Join(dir, "to"))
	if err != nil {
		return err
	}
	got, err := countImported(s)
	if err == nil {
		err = got.compare(reported(ledger))
	}
	if err := errors.Join(err, s.Seal(context.Background()), s.Close()); err != nil {
		return fmt.Errorf("after a crash: %w", err)
	}
	return checkImport(dir, ledger)
}

// reported returns how many entries the import has reported, the highest figure of the
// ledger.
func reported(ledger []int) (n int) {
	for _, entry := range ledger {
		n = max(n, entry)
	}
	return n
}

// checkImport imports again. Then each line is there as often as in the source.
func checkImport(dir string, ledger []int) error {
	to := filepath.Join(dir, "to")
	r, err := logstore.Import(context.Background(), to, logstore.ImportOptions{Memory: 32 << 20}, filepath.Join(dir, "src"))
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	all := r[0].Kept + r[0].Known
	if known := int64(reported(ledger)); all != importLines || r[0].Refused != 0 || r[0].Known < known {
		return fmt.Errorf("of %d entries, of which %d were reported before: %+v: %w", importLines, known, r[0], prove.ErrLost)
	}
	s, err := openAfterCrash(to)
	if err != nil {
		return err
	}
	got, err := countImported(s)
	if err == nil {
		err = got.compare(importLines)
	}
	return errors.Join(err, s.Close())
}

// An importCount has how often each line is there.
type importCount struct {
	own    [importOwn]int
	source [importLines / 2]int
}

func countImported(s *logstore.Store) (*importCount, error) {
	c := &importCount{}
	for _, tenant := range importTenants {
		for r, err := range s.Query(context.Background(), logstore.Query{Tenant: tenant}) {
			if err == nil {
				err = c.add(tenant, r)
			}
			if err != nil {
				return c, fmt.Errorf("tenant %q: %w", tenant, err)
			}
		}
	}
	return c, nil
}

// add counts a line that a tenant has.
func (c *importCount) add(tenant string, r logstore.Result) error {
	line := string(r.Line)
	if number, ok := strings.CutPrefix(line, "source "); ok {
		i, err := strconv.Atoi(number)
		_, e := importLine(2 * i)
		if err != nil || i >= len(c.source) || r.Time != e.Time || tenant != importTenant(2*i) {
			return fmt.Errorf("%q at %d is not of the source: %w", line, r.Time, prove.ErrLost)
		}
		c.source[i]++
		return nil
	}
	for i := range c.own {
		if line == repairLine(i) && tenant == "" {
			c.own[i]++
			return nil
		}
	}
	return fmt.Errorf("%q was never appended: %w", line, prove.ErrLost)
}

// compare checks that n lines of the source are there, those of the lowest times, none
// more often than in the source, and those that the store had.
func (c *importCount) compare(n int) error {
	for i, times := range c.own {
		if times != 1 {
			return fmt.Errorf("%q is there %d times: %w", repairLine(i), times, prove.ErrLost)
		}
	}
	there := 0
	for i, times := range c.source {
		there += times
		if 2*i < n/importAtTime*importAtTime && times < 2 || times > 2 {
			return fmt.Errorf("line %d of the source, which is there twice, is there %d times: %w", 2*i, times, prove.ErrLost)
		}
	}
	if there < n {
		return fmt.Errorf("%d lines of %d that were reported: %w", there, n, prove.ErrLost)
	}
	return nil
}

// importChecks are what is done after a crash.
var importChecks = map[string]func(dir string, ledger []int) error{"again": importAgain, "later": importLater}

func TestImportStates(t *testing.T) {
	t.Parallel()
	h := prove.RecordMount(t, states.MountOptions{Prepare: prepareImport}, importInto)
	for name, check := range importChecks {
		for _, model := range []states.Model{states.POSIX, states.Journaled} {
			t.Run(name+", "+model.String(), func(t *testing.T) {
				t.Parallel()
				rep := h.CheckDir(states.Options{Max: crashSample(4), Seed: prove.Seed(t), Model: model}, check)
				if t.Log(rep); rep.Err() != nil {
					t.Error(rep)
				}
			})
		}
	}
}

func TestImportFaults(t *testing.T) {
	t.Parallel()
	for _, persistent := range []bool{false, true} {
		t.Run(fmt.Sprint("until the end ", persistent), func(t *testing.T) {
			t.Parallel()
			prove.FaultsMount(t, states.FaultOptions{Prepare: prepareImport, Seed: prove.Seed(t), Max: crashSample(3), Persistent: persistent}, importInto, importAgain)
		})
	}
}

// Without the syncs of the records, or of what the store remembers of the source,
// crash states fail.
func TestImportMutants(t *testing.T) {
	if prove.RaceSampled() {
		t.Skip("not with the race detector; set -cuts or STELE_LONG=1")
	}
	t.Parallel()
	h := prove.RecordMount(t, states.MountOptions{Prepare: prepareImport}, importInto)
	for directory, check := range map[string]func(dir string, ledger []int) error{"to/wal": importAgain, "to/imports": importLater} {
		t.Run(directory, func(t *testing.T) {
			t.Parallel()
			prove.Missed(t, h, states.Options{Max: crashSample(24), Seed: prove.Seed(t)}, check, func(s crashtest.Sync) bool {
				return s.Path == directory || strings.HasPrefix(s.Path, directory+"/")
			})
		})
	}
}

// No cut of the power during an import loses what it has reported.
func TestImportPower(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		var cases []prove.Case[int]
		for name, check := range importChecks {
			cases = append(cases, prove.Case[int]{Name: name, Size: logDevice, Prepare: prepareImport, Work: importInto, Check: check})
		}
		prove.Holds(t, fs, nil, cases)
	})
}

// Without the syncs of the records, cuts lose lines.
func TestImportPowerMutants(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		prove.Mutants(t, fs, importAgain, []prove.Mutant[int]{
			{Name: "nothing synced", Size: logDevice, Prepare: prepareImport, Work: importInto, OnSync: prove.Always(crashtest.SkipSync)},
		})
	})
}

// The end of the process at any time during an import loses nothing.
func TestImportKill(t *testing.T) {
	for name, check := range importChecks {
		t.Run(name, func(t *testing.T) {
			res := powertest.Kill(t, kills(), prove.Seed(t), func(dir string, ack func(int)) error {
				if err := prepareImport(dir); err != nil {
					return err
				}
				return ticking(ack, importTick, func() error { return importInto(dir, ack) })
			}, check)
			if t.Log(res); len(res.Lost) > 0 {
				t.Error(res)
			}
		})
	}
}
