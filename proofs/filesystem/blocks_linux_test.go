package filesystem_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/power"
	"github.com/stele-go/stele/crashtest/power/powertest"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// The rig's own proof: the blocks of a file are overwritten in turn, each acknowledged
// when its way to write makes it durable.

const (
	fileName   = "blocks"
	fileBlocks = 32
	blockSize  = 4096
)

// aligned returns a block that O_DIRECT takes, full of b.
func aligned(b byte) []byte {
	block := sys.AlignedBuffer(blockSize, blockSize)
	copy(block, bytes.Repeat([]byte{b}, blockSize))
	return block
}

// oldBlocks makes the file as it is before the first cut.
func oldBlocks(dir string) error {
	return os.WriteFile(filepath.Join(dir, fileName), bytes.Repeat([]byte{'o'}, fileBlocks*blockSize), 0o600)
}

// newBlocks overwrites the file and acknowledges each block by its number.
func newBlocks(flags int, sync func(*os.File) error) func(dir string, ack func(int)) error {
	return func(dir string, ack func(int)) (err error) {
		f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_WRONLY|flags, 0)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		for i := range fileBlocks {
			if _, err := f.WriteAt(aligned('n'), int64(i)*blockSize); err != nil {
				return err
			}
			if err := sync(f); err != nil {
				return err
			}
			ack(i)
		}
		return nil
	}
}

func checkBlocks(dir string, acked []int) error {
	b, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		return err
	}
	if len(b) != fileBlocks*blockSize {
		return fmt.Errorf("%s has %d bytes", fileName, len(b))
	}
	for _, i := range acked {
		if !bytes.Equal(b[i*blockSize:(i+1)*blockSize], aligned('n')) {
			return fmt.Errorf("block %d: %w", i, prove.ErrLost)
		}
	}
	return nil
}

func fdatasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
func noSync(*os.File) error      { return nil }

func TestFile(t *testing.T) {
	prove.EachFS(t, func(t *testing.T, fs string) {
		for _, c := range []struct {
			name  string
			flags int
			sync  func(*os.File) error
			fault crashtest.SyncFault
			lost  bool
		}{
			{name: "write and fdatasync", sync: fdatasync},
			{name: "O_DIRECT and fdatasync", flags: syscall.O_DIRECT, sync: fdatasync},
			{name: "O_DSYNC", flags: syscall.O_DSYNC, sync: noSync},
			{name: "mutant: write", sync: noSync, lost: true},
			{name: "mutant: O_DIRECT", flags: syscall.O_DIRECT, sync: noSync, lost: true},
			{name: "mutant: write and sync_file_range", sync: fdatasync, fault: crashtest.WriteOnly, lost: true},
		} {
			t.Run(c.name, func(t *testing.T) {
				o := power.Options{FS: fs, Seed: prove.Seed(t), Prepare: oldBlocks}
				if c.fault != crashtest.NoFault {
					o.OnSync = func(crashtest.Sync) crashtest.SyncFault { return c.fault }
				}
				rec := powertest.Record(t, o, newBlocks(c.flags, c.sync))
				if c.lost {
					prove.Caught(t, rec, checkBlocks)
				} else {
					prove.Keeps(t, rec, prove.Cuts(), checkBlocks)
				}
			})
		}
	})
}
