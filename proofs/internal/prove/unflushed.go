package prove

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/sys"
)

// TempName is the temporary name of [ReplaceUnflushed].
const TempName = "temp"

// ReplaceUnflushed is the mutant of every replacement of a file: it writes data
// past the page cache and renames the file to name, and flushes the device
// neither before the rename nor after it.
func ReplaceUnflushed(dir, name string, data []byte) error {
	const block = 4096
	temp := filepath.Join(dir, TempName)
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|fileop.DirectFlag, 0o600)
	if err != nil {
		return err
	}
	for off := 0; off < len(data); off += block {
		b := sys.AlignedBuffer(block, block)
		copy(b, data[off:])
		if _, err := f.Write(b); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := errors.Join(f.Truncate(int64(len(data))), f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, filepath.Join(dir, name))
}
