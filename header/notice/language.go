package notice

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The forms of comments. The close of a starred one has the space that lines
// its star up with those above.
var (
	slashes   = comment{open: "//"}
	starred   = comment{open: "/*", lead: " *", close: " */"}
	nested    = comment{open: "/*", lead: " *", close: " */", nests: true}
	hash      = comment{open: "#"}
	hashAsm   = comment{open: "#", not: "abcdefghijklmnopqrstuvwxyz"} // "#include" is for the preprocessor
	hashPHP   = comment{open: "#", not: "["}                          // "#[" opens an attribute
	markup    = comment{open: "<!--", lead: " ", close: "-->", never: "--"}
	dashes    = comment{open: "--"}
	semicolon = comment{open: ";"}
	twoSemi   = comment{open: ";;"}
	percent   = comment{open: "%"}
	twoPer    = comment{open: "%%"}
	quote     = comment{open: `"`}
	apos      = comment{open: "'"}
	bang      = comment{open: "!"}
	rem       = comment{open: "rem", fold: true}
	atRem     = comment{open: "@rem", fold: true} // not echoed, even before "@echo off"
	twoColons = comment{open: "::"}
	dnl       = comment{open: "dnl", fold: true}
	troff     = comment{open: `.\"`}
	curly     = comment{open: "{", lead: " ", close: "}", not: "$"}
	parens    = comment{open: "(*", lead: " *", close: " *)", nests: true}
	parensOne = comment{open: "(*", lead: " *", close: " *)", not: "$"} // Pascal: one does not hold another
	curlyDash = comment{open: "{-", lead: " ", close: "-}", nests: true, not: "#"}
	longLua   = comment{open: "--[[", lead: " ", close: "]]"}
	longLisp  = comment{open: "#|", lead: " ", close: "|#", nests: true}
	longJulia = comment{open: "#=", lead: " ", close: "=#", nests: true}
	longCMake = comment{open: "#[[", lead: " ", close: "]]"}
	longPower = comment{open: "<#", lead: " ", close: "#>"}
	plusD     = comment{open: "/+", lead: " +", close: " +/", nests: true}
	jsx       = comment{open: "{/*", lead: " ", close: "*/}", never: "*/"}
	// The forms of templates that take the white space beside them away, where
	// there is one: what a template prints stays the same.
	goTrim   = comment{open: "{{- /*", lead: " ", close: "*/ -}}", never: "*/"}
	goText   = comment{open: "{{/*", lead: " ", close: "*/}}", never: "*/"}
	jinja    = comment{open: "{#-", lead: " ", close: "-#}"}
	jinjaOld = comment{open: "{#", lead: " ", close: "#}"}
	bars     = comment{open: "{{!--", lead: " ", close: "--}}"}
	erb      = comment{open: "<%#", lead: " ", close: "%>"}
	jsp      = comment{open: "<%--", lead: " ", close: "--%>"}
	asp      = comment{open: "@*", lead: " ", close: "*@"}
	freemark = comment{open: "<#--", lead: " ", close: "-->"}
	velocity = comment{open: "##"}
)

// A language is a family of files with the same comments.
type language struct {
	// forms are all comments that it has. A header is written in the first.
	forms []comment
	// first are the rules for what must stay before a header, besides the
	// "#!" line and lines for editors, which may stand in any file.
	first []firstRule
	// needs is what a file must begin with to get a header, or "".
	needs string
	// names are extensions (".go"), whole names ("Makefile") and patterns
	// ("Dockerfile.*").
	names string
}

// languages is what is known by name. An extension with several meanings whose
// comments differ (.m, .cls, .inc, .tpl) is not taken: Options.Styles tells. Of
// some the content does: see ambiguities.
var languages = []language{
	{forms: []comment{slashes, starred}, names: `
		.go go.mod go.work .cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .ipp .tpp .inl .cppm .ixx .cu .cuh .mm .cs .csx
		.proto .thrift .fbs .capnp .v .sv .svh .vh .zig .sol .hlsl .wgsl .metal .gdshader .ino .odin .as .hx .vala
		.vapi .ck .fan .jsonc .json5 .jsonnet .libsonnet .cue .prisma .bicep .gv .dot .qml .typ .res .resi .re .rei
		.scad .avdl .smithy .tsp .dts .dtsi .overlay .pkl .yara .yar .templ Jenkinsfile .glsl .vert .frag .comp
		.geom .tesc .tese`},
	{forms: []comment{slashes}, first: []firstRule{frontMatter}, names: ".adoc .asciidoc"},
	{forms: []comment{slashes, parens}, names: ".fs .fsi .fsx"},
	{forms: []comment{slashes, nested}, names: ".rs .dart .scala .sc .sbt .mill .kt .kts .ceylon .carbon"},
	{forms: []comment{slashes, nested}, first: []firstRule{swiftTools}, names: ".swift"},
	{forms: []comment{slashes, starred, plusD}, names: ".d .di"},
	{forms: []comment{starred, slashes}, first: []firstRule{frontMatter, docblock}, names: ".js .mjs .cjs .jsx .ts .mts .cts .tsx .es6"},
	{forms: []comment{starred, slashes}, first: []firstRule{frontMatter}, names: ".less"},
	{forms: []comment{starred, slashes}, names: `
		.c .h .java .groovy .gradle .y .yy .l .ll .lex .ld .lds .aidl
		.hal .g4 .peg .pegjs .rl .idl .x .rc .styl .flex .jj .jjt .bt .stan`},
	{forms: []comment{starred, slashes, hashAsm}, names: ".s"},
	{forms: []comment{starred, slashes}, first: []firstRule{charset, frontMatter}, names: ".css .scss .pcss .postcss"},
	{forms: []comment{slashes, starred}, first: []firstRule{charset, frontMatter}, names: ".sass"},
	{forms: []comment{starred, slashes, hashPHP}, first: []firstRule{phpTag}, needs: "<?php", names: ".php .php5 .php7 .phtml"},
	{forms: []comment{hash}, first: []firstRule{coding}, names: `
		.py .pyi .pyw .pyx .pxd .pxi .gyp .gypi .bzl .star .bazel .buck BUILD WORKSPACE BUCK Tiltfile SConstruct
		SConscript wscript Snakefile .smk .mojo`},
	{forms: []comment{hash}, first: []firstRule{rubyMagic}, names: `
		.rb .rake .gemspec .ru .podspec .rbi .rbs .jbuilder Gemfile Rakefile Podfile Vagrantfile Brewfile Capfile
		Guardfile Fastfile Appfile Berksfile Thorfile Dangerfile`},
	{forms: []comment{hash}, first: []firstRule{shellFirst}, names: `
		.sh .bash .zsh .ksh .fish .csh .tcsh .bats .ebuild .eclass PKGBUILD .bashrc .bash_profile .bash_aliases
		.profile .zshrc .zprofile .zshenv .envrc .xinitrc`},
	{forms: []comment{hash}, first: []firstRule{cloudConfig}, names: `
		.yaml .yml .cff .sls .clang-format .clang-tidy .clangd .yamllint .gemrc`},
	{forms: []comment{hash}, first: []firstRule{dockerDirective}, names: `
		Dockerfile Dockerfile.* *.Dockerfile .dockerfile Containerfile Containerfile.* *.Containerfile`},
	{forms: []comment{hash}, names: `
		.mk .mak .make Makefile makefile GNUmakefile BSDmakefile Makefile.* Kbuild Kconfig Kconfig.* Justfile
		justfile .just .ninja .gn .gni .bp .am .pc .pro .pri meson.build meson_options.txt meson.options Doxyfile
		.doxy .pl .pm .t .pod6 .raku .rakumod .tcl .tk .exp .r .ex .exs .cr .awk .gawk .sed .nim .nims .nimble
		.gd .jq .rego .pp .nu .elv .gnuplot .gp .plt .feature .robot .graphql .gql .graphqls .sparql .rq
		.ttl .n3 .promql .ksy .toml .conf .cfg .cnf .properties .desktop .service .socket .timer .mount .automount
		.path .slice .target .network .netdev .spec .repo .rules .bb .bbappend .bbclass .its Pipfile Procfile
		Caddyfile Earthfile CODEOWNERS OWNERS MANIFEST.in requirements.txt requirements-*.txt constraints.txt
		.editorconfig .gitignore .gitattributes .gitmodules .gitconfig .dockerignore .npmignore .npmrc .eslintignore
		.prettierignore .helmignore .hgignore .ignore .mailmap .env .flake8 .pylintrc .coveragerc .condarc .inputrc
		.curlrc .wgetrc .gdbinit .screenrc`},
	{forms: []comment{hash}, first: []firstRule{frontMatter}, names: ".coffee"},
	{forms: []comment{hash, longCMake}, names: ".cmake CMakeLists.txt"},
	{forms: []comment{hash, longJulia}, names: ".jl"},
	{forms: []comment{hash, longPower}, names: ".ps1 .psm1 .psd1"},
	{forms: []comment{hash, starred}, names: ".nix"},
	{forms: []comment{hash, slashes, starred}, names: ".tf .tfvars .tofu .hcl .nomad"},
	{forms: []comment{markup}, first: []firstRule{xmlDeclaration, frontMatter, doctype}, names: `
		.xml .xsd .xsl .xslt .html .htm .xhtml .svg .vue .svelte .wxi .wxl .wxs .wsdl .rng .xaml .axaml .csproj
		.fsproj .vbproj .vcxproj .proj .props .targets .nuspec .resx .plist .storyboard .xib .qrc .kml .gpx .rss
		.atom .xmi .bpmn .pom .iml .fxml .jelly .tld .xlf .xliff .dita .ditamap .docbook .jrxml .glade .mxml .rdf
		.owl .launch .urdf .xacro .dtd .ent .sgml .sgm`},
	{forms: []comment{markup}, first: []firstRule{frontMatter}, names: ".md .markdown .mdown .mkd .qmd .rmd"},
	{forms: []comment{jsx}, first: []firstRule{frontMatter}, names: ".mdx"},
	{forms: []comment{dashes, starred}, names: ".sql .ddl .dml .psql .pgsql .plsql .pls .pks .pkb .hql .cql .sdl .mysql .tsql"},
	{forms: []comment{dashes, longLua}, names: ".lua .luau .moon .rockspec"},
	{forms: []comment{dashes, curlyDash}, names: ".hs .hsc .hs-boot .elm .purs .idr .agda .dhall .cabal cabal.project"},
	{forms: []comment{dashes}, names: ".ada .adb .ads .gpr .vhd .vhdl .applescript .asn .asn1 .mib .psl"},
	{forms: []comment{twoSemi, semicolon, longLisp}, names: `
		.el .lisp .lsp .scm .ss .rkt .sld .scrbl .clj .cljs .cljc .cljd .edn .fnl .hy .wat .wast .asd .ros .smt2
		.kbd dune dune-project`},
	{forms: []comment{semicolon, hash}, names: ".ini .inf .iss .nsi .nsh .asm .nasm .a51 .z80 .zone"},
	{forms: []comment{semicolon}, names: ".ahk .au3"},
	{forms: []comment{percent}, first: []firstRule{texFirst}, names: ".tex .sty .ltx .dtx .ins .bib .bst .bbx .cbx .lbx .clo .tikz .matlab"},
	{forms: []comment{twoPer, percent}, first: []firstRule{coding}, names: ".erl .hrl .yrl .xrl .escript rebar.config"},
	{forms: []comment{percent, starred}, names: ".prolog .lgt .logtalk .mzn .dzn"},
	{forms: []comment{quote}, names: ".vim .vimrc .gvimrc .exrc _vimrc .ideavimrc"},
	{forms: []comment{apos}, names: ".vb .vbs .bas .brs .puml .plantuml"},
	{forms: []comment{bang}, names: ".f .for .ftn .f77 .f90 .f95 .f03 .f08 .f18 .fpp .xdefaults .xresources .factor"},
	{forms: []comment{atRem, rem, twoColons}, names: ".bat .cmd .btm"},
	{forms: []comment{dnl, hash}, names: ".m4 .ac configure.in"},
	{forms: []comment{troff}, first: []firstRule{troffFirst}, names: ".man .mdoc .roff .troff .groff .nroff"},
	{forms: []comment{parens}, names: ".ml .mli .mll .mly .sml .sig .thy .wl .wls .eliom .eliomi"},
	{forms: []comment{curly, parensOne, slashes}, names: ".pas .dpr .dpk .lpr"},
	{forms: []comment{goTrim, goText, markup}, names: ".tmpl .gotmpl .gohtml .gotxt .ctmpl _*.tpl"},
	{forms: []comment{jinja, jinjaOld, markup}, first: []firstRule{frontMatter}, names: ".j2 .jinja .jinja2 .twig .njk .tera"},
	{forms: []comment{bars, markup}, first: []firstRule{frontMatter}, names: ".hbs .handlebars"},
	{forms: []comment{erb, markup}, first: []firstRule{frontMatter}, names: ".erb .rhtml .ejs .eex .leex"},
	{forms: []comment{jsp, markup}, names: ".jsp .jspf .tag .gsp .aspx .ascx .master"},
	{forms: []comment{asp, markup}, names: ".cshtml .vbhtml .razor"},
	{forms: []comment{freemark, markup}, names: ".ftl .ftlh .ftlx"},
	{forms: []comment{velocity}, names: ".vm .vtl"},
}

// A Style is a form of comment, as Options.Styles has it, and the names of the
// files that get it: extensions (".go"), whole names and patterns.
type Style struct {
	Comment string
	Names   []string
}

// Styles returns all that are known.
func Styles() []Style {
	var all []Style
	for _, l := range languages {
		name := l.forms[0].name()
		i := slices.IndexFunc(all, func(s Style) bool { return s.Comment == name })
		if i < 0 {
			i = len(all)
			all = append(all, Style{Comment: name})
		}
		all[i].Names = append(all[i].Names, strings.Fields(l.names)...)
	}
	for _, s := range all {
		slices.Sort(s.Names)
	}
	return all
}

// unknown is the language of a file whose comments only Options.Styles tells.
var unknown = language{}

// outer are extensions that say nothing about comments: the one before counts.
var outer = []string{".in", ".dist", ".example", ".sample"}

// A catalog finds the language of a file.
type catalog struct {
	names    map[string]*language // whole names as they are, extensions in lower case
	patterns []namePattern
	scripts  map[string]*language // by the interpreter of the "#!" line
	xml      *language            // whatever begins with <?xml
	forced   map[string]comment   // by extension or name; "" is every file
}

type namePattern struct {
	glob string
	lang *language
}

func newCatalog(styles []string) (*catalog, error) {
	c := &catalog{names: map[string]*language{}, forced: map[string]comment{}}
	for i := range languages {
		for _, name := range strings.Fields(languages[i].names) {
			if strings.Contains(name, "*") {
				c.patterns = append(c.patterns, namePattern{name, &languages[i]})
			} else {
				c.names[name] = &languages[i]
			}
		}
	}
	c.scripts = map[string]*language{
		"node": c.names[".js"], "deno": c.names[".ts"], "bun": c.names[".ts"], "php": c.names[".php"], "lua": c.names[".lua"],
		"runghc": c.names[".hs"], "ocaml": c.names[".ml"], "escript": c.names[".erl"], "groovy": c.names[".groovy"],
		"python": c.names[".py"], "ruby": c.names[".rb"],
	}
	c.xml = c.names[".xml"]
	for _, s := range styles {
		key, style := "", s
		if k, v, ok := strings.Cut(s, "="); ok && k != "" && v != "" && !strings.ContainsAny(k, " \t") {
			key, style = k, v
		}
		form, err := parseComment(style)
		if err != nil {
			return nil, err
		}
		if _, ok := c.forced[key]; ok {
			return nil, fmt.Errorf("--style: %q has two", cmp.Or(key, "every file"))
		}
		c.forced[key] = form
	}
	return c, nil
}

// find returns the language of the file name, whose first bytes are head. Its
// first form is the one to write. It returns nil for a file of unknown type.
func (c *catalog) find(name string, head []byte) *language {
	base := filepath.Base(name)
	lang := c.byName(base)
	for lang == nil && slices.Contains(outer, filepath.Ext(base)) {
		base = strings.TrimSuffix(base, filepath.Ext(base))
		lang = c.byName(base)
	}
	if lang == nil && filepath.Ext(base) == "" {
		lang = c.byScript(head)
	}
	if lang != nil && lang.needs == "" && !slices.Contains(lang.forms, markup) && xmlDeclaration(nil, bytes.TrimPrefix(head, bom), 0) > 0 {
		lang = c.xml // as a .ts file of translations
	}
	for _, key := range []string{filepath.Base(name), strings.ToLower(filepath.Ext(name)), ""} {
		if form, ok := c.forced[key]; ok {
			if lang == nil {
				lang = &unknown
			}
			styled := *lang
			styled.forms = append([]comment{form}, lang.forms...)
			return &styled
		}
	}
	return lang
}

func (c *catalog) byName(base string) *language {
	if l := c.names[base]; l != nil {
		return l
	}
	for _, p := range c.patterns {
		if ok, _ := filepath.Match(p.glob, base); ok {
			return p.lang
		}
	}
	if ext := filepath.Ext(base); ext != "" {
		return c.names[strings.ToLower(ext)]
	}
	return nil
}

// interpreter finds the program of a "#!" line: its last path element, or
// what env is to start, without a version.
var interpreter = regexp.MustCompile(`^#![ \t]*(?:\S*/env(?:[ \t]+-\S+)*[ \t]+)?(?:\S*/)?([A-Za-z_+-]+)`)

func (c *catalog) byScript(head []byte) *language {
	m := interpreter.FindSubmatch(bytes.TrimPrefix(head, bom))
	if m == nil {
		return nil
	}
	if l := c.scripts[string(m[1])]; l != nil {
		return l
	}
	return c.names[".sh"] // every interpreter that takes "#!" as a comment has "#"
}
