package notice_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/header/notice"
)

func Example() {
	e, err := notice.New(notice.Options{
		Action: notice.Insert,
		Text:   "Copyright {{.Year}} ACME\nSPDX-License-Identifier: MIT",
		Year:   "2026",
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range []struct{ name, content string }{
		{"run.py", "#!/usr/bin/env python3\nprint()\n"},
		{"page.css", "a {}\n"},
		{"go.sum", ""},
	} {
		c, err := e.Edit(file.name, []byte(file.content))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("-- %s: %s\n%s", file.name, c.State, c.Apply([]byte(file.content)))
	}
	// Output:
	// -- run.py: inserted
	// #!/usr/bin/env python3
	// # Copyright 2026 ACME
	// # SPDX-License-Identifier: MIT
	//
	// print()
	// -- page.css: inserted
	// /*
	//  * Copyright 2026 ACME
	//  * SPDX-License-Identifier: MIT
	//  */
	//
	// a {}
	// -- go.sum: skipped
}

// A pre-commit hook fails if a file has no legal notice. It reads the head of
// each file, and more only where the comments are long.
func Example_check() {
	dir, err := os.MkdirTemp("", "notice-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "a.go"), []byte("// Copyright 2026 ACME\n\npackage a\n"), 0o644)
	os.WriteFile(filepath.Join(dir, "b.go"), []byte("package a\n"), 0o644)

	e, err := notice.New(notice.Options{Action: notice.Check})
	if err != nil {
		log.Fatal(err)
	}
	files, err := fs.Glob(os.DirFS(dir), "*.go")
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range files {
		src, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			log.Fatal(err)
		}
		c, err := e.EditHead(name, src[:min(len(src), 16<<10)])
		if errors.Is(err, notice.ErrShort) {
			c, err = e.Edit(name, src)
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, c.State)
	}
	// Output:
	// a.go has
	// b.go missing
}

func ExampleNew_replace() {
	e, err := notice.New(notice.Options{
		Action:    notice.Replace,
		Text:      "Copyright {{.Year}} Bar",
		Year:      "2026",
		KeepYears: true,
		Old:       "Copyright 2000 Foo", // whatever its years
	})
	if err != nil {
		log.Fatal(err)
	}
	src := []byte("/* Copyright 2019-2023 Foo */\n\nint a;\n")
	c, err := e.Edit("a.c", src)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n%s", c.State, c.Apply(src))
	// Output:
	// replaced
	// /*
	//  * Copyright 2019-2023 Bar
	//  */
	//
	// int a;
}

func ExampleStyleOf() {
	for _, name := range []string{"main.go", "Dockerfile.test", "page.html.in", "module.v", "photo.png"} {
		style, ok := notice.StyleOf(name, []byte("\nmodule top;\n"))
		fmt.Printf("%-16s %q %v\n", name, style, ok)
	}
	// Output:
	// main.go          "//" true
	// Dockerfile.test  "#" true
	// page.html.in     "<!-- -->" true
	// module.v         "//" true
	// photo.png        "" false
}

func ExampleStyles() {
	for _, s := range notice.Styles() {
		if s.Comment == "<!-- -->" {
			fmt.Println(strings.Join(s.Names[:4], " "))
		}
	}
	// Output: .atom .axaml .bpmn .csproj
}
