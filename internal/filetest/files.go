package filetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A File is the mode and the content of a file.
type File struct {
	Mode    fs.FileMode
	Content string
}

// Files returns the files in dir, by name.
func Files(t *testing.T, dir string) map[string]File {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]File{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = File{info.Mode(), string(b)}
	}
	return files
}
