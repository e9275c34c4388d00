package states_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/states"
)

// A program under test declares the methods that it needs from a file system. In
// production they are a few lines around package os.
type configFS interface {
	OpenFile(name string, flag int, perm fs.FileMode) (configFile, error)
	Rename(oldname, newname string) error
	SyncDir(name string) error
}

type configFile interface {
	io.WriteCloser
	Sync() error
}

// In tests it is a states.FS, whose OpenFile returns a *states.File.
type inMemory struct{ *states.FS }

func (m inMemory) OpenFile(name string, flag int, perm fs.FileMode) (configFile, error) {
	return m.FS.OpenFile(name, flag, perm)
}

// A configWriter replaces a configuration as many programs do: it writes a new file and
// renames it. The examples differ in the syncs.
type configWriter struct {
	syncFile, syncDir bool
}

func (w configWriter) save(fsys configFS, data string) error {
	f, err := fsys.OpenFile("app.conf.tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, data)
	if err == nil && w.syncFile {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename("app.conf.tmp", "app.conf"); err != nil || !w.syncDir {
		return err
	}
	return fsys.SyncDir(".")
}

// oldConfig returns the durable files before the work.
func oldConfig() *states.FS {
	fsys := states.NewFS()
	if err := fsys.WriteFile("app.conf", []byte("old"), 0o644); err != nil {
		panic(err) // cannot fail in memory
	}
	return fsys
}

// work saves a new configuration and acknowledges it.
func (w configWriter) work(fsys *states.FS, ack func(string)) error {
	if err := w.save(inMemory{fsys}, "new"); err != nil {
		return err
	}
	ack("new")
	return nil
}

// checkConfig accepts the old configuration or the new one, and only the new one once it
// was acknowledged.
func checkConfig(fsys *states.FS, acked []string) error {
	got, err := fsys.ReadFile("app.conf")
	if err != nil {
		return err
	}
	if string(got) == "new" || string(got) == "old" && len(acked) == 0 {
		return nil
	}
	return fmt.Errorf("app.conf holds %q", got)
}

func reportConfig(w configWriter, o states.Options) {
	h, err := states.RecordFS(oldConfig(), w.work)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.CheckFS(o, checkConfig))
}

// Without a sync of the file the rename may be durable before the content is.
// On ext4 and XFS too.
func ExampleHistory_CheckFS_fileNotSynced() {
	w := configWriter{syncDir: true}
	reportConfig(w, states.Options{Model: states.Journaled})
	// Output:
	// journaled: 4 operations, cut at 2 points: 12 crash states, 10 different ones checked, exhaustive, 4 failed
	// state J3.0:1,0,1, 0 acknowledged: app.conf holds ""
	// 	  1 create app.conf.tmp
	// 	  2 write app.conf.tmp [0, 3)  <- lost
	// 	  3 rename app.conf.tmp to app.conf
	// 	    -- crash
	// to check just the first of them: states.Options{Only: "J3.0:1,0,1"}
}

// Without a sync of the directory the file is whole, but the old one may come
// back after the new one was acknowledged.
func ExampleHistory_CheckFS_directoryNotSynced() {
	w := configWriter{syncFile: true}
	reportConfig(w, states.Options{})
	// Output:
	// POSIX: 4 operations, cut at 3 points: 12 crash states, 8 different ones checked, exhaustive, 2 failed
	// state P4.1:1,0, 1 acknowledged: app.conf holds "old"
	// 	  1 create app.conf.tmp
	// 	  2 write app.conf.tmp [0, 3)
	// 	  3 fsync app.conf.tmp
	// 	  4 rename app.conf.tmp to app.conf  <- lost
	// 	    -- crash
	// to check just the first of them: states.Options{Only: "P4.1:1,0"}
}

// With both syncs no state fails.
func ExampleHistory_CheckFS() {
	w := configWriter{syncFile: true, syncDir: true}
	reportConfig(w, states.Options{})
	reportConfig(w, states.Options{Model: states.Journaled})
	// Output:
	// POSIX: 5 operations, cut at 3 points: 10 crash states, 6 different ones checked, exhaustive, 0 failed
	// journaled: 5 operations, cut at 3 points: 9 crash states, 6 different ones checked, exhaustive, 0 failed
}

// A lineLog appends lines to a file.
type lineLog struct {
	sync     func(*states.File) error
	ackFirst bool // before the sync
}

func (l lineLog) work(fsys *states.FS, ack func(string)) error {
	f, err := fsys.OpenFile("log", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	for i := range 3 {
		line := fmt.Sprintf("line %d\n", i)
		if _, err := io.WriteString(f, line); err != nil {
			return errors.Join(err, f.Close())
		}
		if l.ackFirst {
			ack(line)
		}
		if err := l.sync(f); err != nil {
			return errors.Join(err, f.Close())
		}
		if !l.ackFirst {
			ack(line)
		}
	}
	return f.Close()
}

func emptyLines() *states.FS {
	fsys := states.NewFS()
	if err := fsys.WriteFile("log", nil, 0o644); err != nil {
		panic(err) // cannot fail in memory
	}
	return fsys
}

func checkLines(fsys *states.FS, acked []string) error {
	got, err := fsys.ReadFile("log")
	if err != nil {
		return err
	}
	for _, line := range acked {
		if !bytes.Contains(got, []byte(line)) {
			return fmt.Errorf("%q was acknowledged, and the log holds %q", line, got)
		}
	}
	return nil
}

// A log that does not sync, one that acknowledges before it syncs, and one that
// is right.
func ExampleRecordFS() {
	for _, c := range []struct {
		name string
		log  lineLog
	}{
		{"no sync", lineLog{sync: func(*states.File) error { return nil }}},
		{"acknowledged before the sync", lineLog{sync: (*states.File).Datasync, ackFirst: true}},
		{"right", lineLog{sync: (*states.File).Datasync}},
	} {
		h, err := states.RecordFS(emptyLines(), c.log.work)
		if err != nil {
			fmt.Println(err)
			return
		}
		report := h.CheckFS(states.Options{}, checkLines)
		fmt.Printf("%s: %d of %d states failed\n", c.name, report.Failed, report.Checked)
		if len(report.Failures) > 0 {
			fmt.Println(report.Failures[0])
		}
	}
	// Output:
	// no sync: 30 of 40 states failed
	// state P2.1:0,1, 1 acknowledged: "line 0\n" was acknowledged, and the log holds "\x00\x00\x00\x00\x00\x00\x00line 1\n"
	// 	  1 write log [0, 7)  <- lost
	// 	  2 write log [7, 14)
	// 	    -- crash
	// acknowledged before the sync: 6 of 16 states failed
	// state P1.1:0, 1 acknowledged: "line 0\n" was acknowledged, and the log holds ""
	// 	  1 write log [0, 7)  <- lost
	// 	    -- crash
	// right: 0 of 10 states failed
}

// OnSync shows that each sync of a correct program is needed.
func ExampleOptions_onSync() {
	h, err := states.RecordFS(oldConfig(), configWriter{syncFile: true, syncDir: true}.work)
	if err != nil {
		fmt.Println(err)
		return
	}
	var syncs []crashtest.Sync
	without := func(n int) states.Report {
		syncs = nil
		return h.CheckFS(states.Options{OnSync: func(s crashtest.Sync) crashtest.SyncFault {
			syncs = append(syncs, s)
			if s.N == n {
				return crashtest.SkipSync
			}
			return crashtest.NoFault
		}}, checkConfig)
	}
	without(-1)
	for n := range syncs {
		report := without(n)
		fmt.Printf("without %v: %d of %d states fail\n", syncs[n], report.Failed, report.Checked)
	}
	// Output:
	// without fsync(app.conf.tmp), number 0: 4 of 10 states fail
	// without fsync(.), number 1: 2 of 8 states fail
}

// A fault at every call finds code that handles an error wrongly. Here a failed sync is
// called again, and the second answer is believed.
func ExampleFaultsFS() {
	again := lineLog{sync: func(f *states.File) error {
		err := f.Datasync()
		if err != nil {
			err = f.Datasync()
		}
		return err
	}}
	o := states.FaultOptions{Faults: []states.Fault{states.FailEIO}, Crash: &states.Options{}}
	report := states.FaultsFS(emptyLines(), o, again.work, checkLines)
	fmt.Printf("%d calls, %d runs, %d failed; the first:\n%v\n", report.Calls, report.Runs, report.Failed, report.Failures[0])

	right := lineLog{sync: (*states.File).Datasync}
	fmt.Println(states.FaultsFS(emptyLines(), o, right.work, checkLines))
	// Output:
	// 8 calls, 8 runs, 3 failed; the first:
	// EIO at call 2 (sync log); the work returned no error; then a crash
	// state P4.1:0,1, 1 acknowledged: "line 0\n" was acknowledged, and the log holds "\x00\x00\x00\x00\x00\x00\x00line 1\n"
	// 	  1 write log [0, 7)  <- lost
	// 	  2 failed sync log
	// 	  3 fdatasync log
	// 	  4 write log [7, 14)
	// 	    -- crash
	// 8 calls, 8 runs with a fault, 41 crash states after it, 0 failed
}
