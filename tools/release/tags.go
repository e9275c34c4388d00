package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stele-go/stele/tools/internal/modules"
)

// errNotAsked is the error of checkTags if origin does not answer.
var errNotAsked = errors.New("origin did not answer")

// checkTags returns an error if the remote origin has a tag that this clone lacks
// or has for another commit: a shallow clone has none. Without a remote of that
// name there is nothing to check.
func checkTags(ctx context.Context, top string) error {
	remotes, err := modules.Git(ctx, top, "remote")
	if err != nil {
		return err
	}
	if !containsLine(remotes, "origin") {
		return nil
	}
	there, err := modules.Git(ctx, top, "ls-remote", "--tags", "--refs", "origin")
	if err != nil {
		return fmt.Errorf("%w: %w", errNotAsked, err)
	}
	here, err := modules.Git(ctx, top, "for-each-ref", "--format=%(objectname)%09%(refname)", "refs/tags")
	if err != nil {
		return err
	}
	var lacking []string
	for line := range strings.Lines(there) {
		if line = strings.TrimSpace(line); !containsLine(here, line) {
			_, name, _ := strings.Cut(line, "refs/tags/")
			lacking = append(lacking, name)
		}
	}
	if len(lacking) > 0 {
		return fmt.Errorf("origin has tags that this clone lacks or has for another commit: %s; want git fetch --tags origin", strings.Join(lacking, " "))
	}
	return nil
}

func containsLine(text, line string) bool {
	return strings.Contains("\n"+text+"\n", "\n"+line+"\n")
}
