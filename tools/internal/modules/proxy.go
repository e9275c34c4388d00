package modules

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// Sums are the two lines that a go.sum has of a module.
type Sums struct{ Zip, GoMod string }

// Write adds version of m, as it is in the tree below top, to a module proxy
// in the directory proxy: list, info, mod and zip, as GOPROXY=file:// reads them.
// The zip has the files that cmd/go would put into it, and none of a nested module.
func Write(ctx context.Context, proxy, top string, m Module, version string) (Sums, error) {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return Sums{}, err
	}
	dir := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return Sums{}, err
	}
	mod, err := os.ReadFile(filepath.Join(top, m.Dir, "go.mod"))
	if err != nil {
		return Sums{}, err
	}
	zipped := filepath.Join(dir, version+".zip")
	if err := writeZip(ctx, zipped, top, m.Dir, module.Version{Path: m.Path, Version: version}); err != nil {
		return Sums{}, fmt.Errorf("%s: %w", m.Path, err)
	}
	for name, data := range map[string]string{
		version + ".mod":  string(mod),
		version + ".info": fmt.Sprintf(`{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version),
		"list":            version + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666); err != nil {
			return Sums{}, err
		}
	}
	return sums(zipped, mod)
}

// Files returns the names of the files below dir that the zip of its module has.
// Files that git ignores, such as a report of stele bench, are not among them.
// Without a repository it has all files.
func Files(ctx context.Context, dir string) ([]string, error) {
	checked, err := zip.CheckDir(dir)
	if err != nil {
		return nil, err
	}
	listed, err := Git(ctx, dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard", ".")
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	known := map[string]bool{}
	for name := range strings.SplitSeq(listed, "\x00") {
		known[filepath.FromSlash(name)] = true
	}
	var names []string
	for _, p := range checked.Valid {
		name, relErr := filepath.Rel(dir, p)
		if relErr != nil {
			return nil, relErr
		}
		if err != nil || known[name] {
			names = append(names, name)
		}
	}
	return names, nil
}

// writeZip zips the directory dir of the tree below top. A module without a licence
// gets the repository's, as cmd/go does it, so that the sums are those of the
// proxies.
func writeZip(ctx context.Context, name, top, dir string, v module.Version) error {
	names, err := Files(ctx, filepath.Join(top, dir))
	if err != nil {
		return err
	}
	var files []zip.File
	for _, p := range names {
		files = append(files, file{filepath.ToSlash(p), filepath.Join(top, dir, p)})
	}
	if !slices.Contains(names, "LICENSE") {
		files = append(files, file{"LICENSE", filepath.Join(top, "LICENSE")})
	}
	var buf bytes.Buffer
	if err := zip.Create(&buf, v, files); err != nil {
		return err
	}
	return os.WriteFile(name, buf.Bytes(), 0o666)
}

// A file of a zip: its name there, and its name on this machine.
type file struct{ path, name string }

func (f file) Path() string                 { return f.path }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.name) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.name) }

func sums(zipped string, mod []byte) (s Sums, err error) {
	if s.Zip, err = dirhash.HashZip(zipped, dirhash.Hash1); err != nil {
		return s, err
	}
	s.GoMod, err = hashGoMod(mod)
	return s, err
}
