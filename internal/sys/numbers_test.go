package sys

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// No file calls os.File.Fd: it makes a pipe block, and the number belongs to another file
// once the file is closed. See WithFD.
func TestNoCallByNumber(t *testing.T) {
	call := regexp.MustCompile(`\.Fd\(\)`)
	for _, dir := range []string{".", "../tempfile", "../../fileio", "../../wal", "../../newfile", "../../mkdir", "../../atomicfile", "../../header", "../oldfile", "../../profile", "../../fileio/pace", "../../fileio/otelio", "../../logstore", "../../logstore/internal/catalog", "../../logstore/internal/segment"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(b), "\n") {
				if call.MatchString(line) {
					t.Errorf("%s:%d: %s", name, i+1, strings.TrimSpace(line))
				}
			}
		}
	}
}
