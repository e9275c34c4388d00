package settings

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	parser "github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/stele-go/stele/internal/setting"
)

// separator is between the parts of a koanf key; no name of a setting or tenant has it.
const separator = "\x1f"

// maxFile bounds a settings file.
const maxFile = 1 << 20

// AddFlags adds a flag for each setting.
func AddFlags(f *pflag.FlagSet) {
	for _, s := range All() {
		usage := s.Help
		if s.Value != "" {
			usage += " (`" + s.Value + "`)"
		}
		if s.Value == "" {
			f.Bool(s.Flag(), false, usage)
			continue
		}
		if s.Default != "" && s.Default != "{}" && s.Default != "0" && s.Default != "0s" {
			usage += "; default " + s.Default
		}
		f.String(s.Flag(), "", usage)
	}
}

// Load returns the settings of the flags that were given, of the environment, as
// os.Environ returns it, and of the file, if it has a name. Others have their defaults.
func Load(f *pflag.FlagSet, environ []string, file string) (*Settings, error) {
	k := koanf.New(separator)
	origins := map[string]string{}
	if file != "" {
		if err := loadFile(k, file, origins); err != nil {
			return nil, err
		}
	}
	if err := loadEnvironment(k, environ, origins); err != nil {
		return nil, err
	}
	given := map[string]any{}
	for _, s := range All() {
		if fl := f.Lookup(s.Flag()); fl != nil && fl.Changed {
			given[s.Name] = fl.Value.String()
			origins[s.Name] = "--" + s.Flag()
		}
	}
	if err := k.Load(confmap.Provider(given, ""), nil); err != nil {
		return nil, err
	}
	return decode(k, origins)
}

// decode parses the value of each setting.
func decode(k *koanf.Koanf, origins map[string]string) (*Settings, error) {
	s := &Settings{origins: origins}
	for _, of := range All() {
		v, origin := any(of.Default), origins[of.Name]
		if origin != "" {
			v = k.Get(of.Name)
		}
		if v == nil {
			v = of.Default // a name without a value
		}
		if err := of.parse(s, v); err != nil {
			return nil, located(err, of.Name, origin, origins)
		}
	}
	return s, nil
}

// located returns an error of a value with the place where it was given.
func located(err error, name, origin string, origins map[string]string) error {
	if within, ok := errors.AsType[*withinError](err); ok {
		key := strings.Join(append([]string{name}, within.path...), separator)
		origin, err = cmp.Or(origins[key], origin), within.err
		name += "." + strings.Join(within.path, ".")
		if strings.HasPrefix(origin, "--") || strings.HasPrefix(origin, "STELE_") {
			origin += ": " + strings.Join(within.path, ".")
		}
	}
	e, ok := errors.AsType[*setting.Error](err)
	if !ok {
		return fmt.Errorf("%s: %w", cmp.Or(origin, name), err)
	}
	named := *e
	named.Name = origin
	if !strings.HasPrefix(origin, "--") && !strings.HasPrefix(origin, "STELE_") {
		named.Name = strings.TrimPrefix(origin+": "+name, ": ")
	}
	return &named
}

func loadEnvironment(k *koanf.Koanf, environ []string, origins map[string]string) error {
	byVariable := map[string]Setting{}
	for _, s := range All() {
		byVariable[s.Variable()] = s
	}
	return k.Load(env.Provider(separator, env.Opt{
		Prefix: "STELE_",
		TransformFunc: func(variable, value string) (string, any) {
			s, ok := byVariable[variable]
			if !ok {
				return "", nil // it is skipped
			}
			origins[s.Name] = variable
			return s.Name, value
		},
		EnvironFunc: func() []string { return environ },
	}), nil)
}

// loadFile loads a file, and notes the line of each name in origins.
func loadFile(k *koanf.Koanf, file string, origins map[string]string) error {
	data, err := readFile(file)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil // it is empty
	} else if err != nil {
		return fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more than one document; want one", file)
	}
	if err := noteLines(file, doc.Content[0], origins); err != nil {
		return err
	}
	if err := k.Load(rawbytes.Provider(data), parser.Parser()); err != nil {
		return fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: more than %d bytes; want a file of settings", name, maxFile)
	}
	return data, err
}

// noteLines notes the line of each name of the document in origins, and refuses names
// that there are not, and those given twice.
func noteLines(file string, doc *yaml.Node, origins map[string]string) error {
	if doc.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: want settings such as \"listen: 127.0.0.1:3100\"", file, doc.Line)
	}
	known := map[string]bool{}
	for _, s := range All() {
		known[s.Name] = true
	}
	for i := 0; i < len(doc.Content); i += 2 {
		key := doc.Content[i]
		if name := strings.ReplaceAll(key.Value, "-", "_"); !known[key.Value] && known[name] {
			return fmt.Errorf("%s:%d: %s: no such setting; want %s, with underscores", file, key.Line, key.Value, name)
		} else if !known[name] {
			return fmt.Errorf("%s:%d: %s: no such setting; 'stele serve --print-config' lists all", file, key.Line, key.Value)
		}
	}
	return notePairs(file, "", doc, origins)
}

func notePairs(file, prefix string, node *yaml.Node, origins map[string]string) error {
	seen := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if line := seen[key.Value]; line > 0 {
			return fmt.Errorf("%s:%d: %s: given twice; it is in line %d already", file, key.Line, key.Value, line)
		}
		seen[key.Value] = key.Line
		origins[prefix+key.Value] = fmt.Sprintf("%s:%d", file, key.Line)
		if value.Kind == yaml.MappingNode {
			if err := notePairs(file, prefix+key.Value+separator, value, origins); err != nil {
				return err
			}
		}
	}
	return nil
}
