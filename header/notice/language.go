package notice

// The comment styles. The close of a starred one begins with the space that
// aligns its star with those above.
var (
	slashes   = commentStyle{open: "//"}
	starred   = commentStyle{open: "/*", lead: " *", close: " */"}
	nested    = commentStyle{open: "/*", lead: " *", close: " */", nests: true}
	hash      = commentStyle{open: "#"}
	hashAsm   = commentStyle{open: "#", not: "abcdefghijklmnopqrstuvwxyz"} // "#include" is for the preprocessor
	hashPHP   = commentStyle{open: "#", not: "["}                          // "#[" opens an attribute
	markup    = commentStyle{open: "<!--", lead: " ", close: "-->", never: "--"}
	dashes    = commentStyle{open: "--"}
	semicolon = commentStyle{open: ";"}
	twoSemi   = commentStyle{open: ";;"}
	percent   = commentStyle{open: "%"}
	twoPer    = commentStyle{open: "%%"}
	quote     = commentStyle{open: `"`}
	apos      = commentStyle{open: "'"}
	bang      = commentStyle{open: "!"}
	rem       = commentStyle{open: "rem", fold: true}
	atRem     = commentStyle{open: "@rem", fold: true} // not echoed, even before "@echo off"
	twoColons = commentStyle{open: "::"}
	dnl       = commentStyle{open: "dnl", fold: true}
	troff     = commentStyle{open: `.\"`}
	curly     = commentStyle{open: "{", lead: " ", close: "}", not: "$"}
	parens    = commentStyle{open: "(*", lead: " *", close: " *)", nests: true}
	parensOne = commentStyle{open: "(*", lead: " *", close: " *)", not: "$"} // Pascal: they do not nest
	curlyDash = commentStyle{open: "{-", lead: " ", close: "-}", nests: true, not: "#"}
	longLua   = commentStyle{open: "--[[", lead: " ", close: "]]"}
	longLisp  = commentStyle{open: "#|", lead: " ", close: "|#", nests: true}
	longJulia = commentStyle{open: "#=", lead: " ", close: "=#", nests: true}
	longCMake = commentStyle{open: "#[[", lead: " ", close: "]]"}
	longPower = commentStyle{open: "<#", lead: " ", close: "#>"}
	plusD     = commentStyle{open: "/+", lead: " +", close: " +/", nests: true}
	jsx       = commentStyle{open: "{/*", lead: " ", close: "*/}", never: "*/"}
	// Of templates the styles that trim the white space around them, where there
	// is one: the output of the template stays the same.
	goTrim   = commentStyle{open: "{{- /*", lead: " ", close: "*/ -}}", never: "*/"}
	goText   = commentStyle{open: "{{/*", lead: " ", close: "*/}}", never: "*/"}
	jinja    = commentStyle{open: "{#-", lead: " ", close: "-#}"}
	jinjaOld = commentStyle{open: "{#", lead: " ", close: "#}"}
	bars     = commentStyle{open: "{{!--", lead: " ", close: "--}}"}
	erb      = commentStyle{open: "<%#", lead: " ", close: "%>"}
	jsp      = commentStyle{open: "<%--", lead: " ", close: "--%>"}
	asp      = commentStyle{open: "@*", lead: " ", close: "*@"}
	freemark = commentStyle{open: "<#--", lead: " ", close: "-->"}
	velocity = commentStyle{open: "##"}
)

// A language is a set of files with the same comments.
type language struct {
	// styles are all of its comments. A notice is written in the first.
	styles []commentStyle
	// preamble are the rules for its preamble, besides the "#!" line and the lines
	// for editors, which any file may have.
	preamble []preambleRule
	// needs is the preamble without which a file has no place for a notice, or "".
	needs string
	// names are extensions (".go"), whole names ("Makefile") and patterns
	// ("Dockerfile.*").
	names string
}

// languages has every known name. Extensions of several languages whose comments
// differ are left out (.m, .cls, .inc, .tpl), and need Options.Styles, or are in
// ambiguities, where the content decides.
var languages = []language{
	{styles: []commentStyle{slashes, starred}, names: `
		.go go.mod go.work .cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .ipp .tpp .inl .cppm .ixx .cu .cuh .mm .cs .csx
		.proto .thrift .fbs .capnp .v .sv .svh .vh .zig .sol .hlsl .wgsl .metal .gdshader .ino .odin .as .hx .vala
		.vapi .ck .fan .jsonc .json5 .jsonnet .libsonnet .cue .prisma .bicep .gv .dot .qml .typ .res .resi .re .rei
		.scad .avdl .smithy .tsp .dts .dtsi .overlay .pkl .yara .yar .templ Jenkinsfile .glsl .vert .frag .comp
		.geom .tesc .tese`},
	{styles: []commentStyle{slashes}, preamble: []preambleRule{frontMatter}, names: ".adoc .asciidoc"},
	{styles: []commentStyle{slashes, parens}, names: ".fs .fsi .fsx"},
	{styles: []commentStyle{slashes, nested}, names: ".rs .dart .scala .sc .sbt .mill .kt .kts .ceylon .carbon"},
	{styles: []commentStyle{slashes, nested}, preamble: []preambleRule{swiftTools}, names: ".swift"},
	{styles: []commentStyle{slashes, starred, plusD}, names: ".d .di"},
	{styles: []commentStyle{starred, slashes}, preamble: []preambleRule{frontMatter, docblock}, names: ".js .mjs .cjs .jsx .ts .mts .cts .tsx .es6"},
	{styles: []commentStyle{starred, slashes}, preamble: []preambleRule{frontMatter}, names: ".less"},
	{styles: []commentStyle{starred, slashes}, names: `
		.c .h .java .groovy .gradle .y .yy .l .ll .lex .ld .lds .aidl
		.hal .g4 .peg .pegjs .rl .idl .x .rc .styl .flex .jj .jjt .bt .stan`},
	{styles: []commentStyle{starred, slashes, hashAsm}, names: ".s"},
	{styles: []commentStyle{starred, slashes}, preamble: []preambleRule{charset, frontMatter}, names: ".css .scss .pcss .postcss"},
	{styles: []commentStyle{slashes, starred}, preamble: []preambleRule{charset, frontMatter}, names: ".sass"},
	{styles: []commentStyle{starred, slashes, hashPHP}, preamble: []preambleRule{phpTag}, needs: "<?php", names: ".php .php5 .php7 .phtml"},
	{styles: []commentStyle{hash}, preamble: []preambleRule{coding}, names: `
		.py .pyi .pyw .pyx .pxd .pxi .gyp .gypi .bzl .star .bazel .buck BUILD WORKSPACE BUCK Tiltfile SConstruct
		SConscript wscript Snakefile .smk .mojo`},
	{styles: []commentStyle{hash}, preamble: []preambleRule{rubyMagic}, names: `
		.rb .rake .gemspec .ru .podspec .rbi .rbs .jbuilder Gemfile Rakefile Podfile Vagrantfile Brewfile Capfile
		Guardfile Fastfile Appfile Berksfile Thorfile Dangerfile`},
	{styles: []commentStyle{hash}, preamble: []preambleRule{shellFirst}, names: `
		.sh .bash .zsh .ksh .fish .csh .tcsh .bats .ebuild .eclass PKGBUILD .bashrc .bash_profile .bash_aliases
		.profile .zshrc .zprofile .zshenv .envrc .xinitrc`},
	{styles: []commentStyle{hash}, preamble: []preambleRule{cloudConfig}, names: `
		.yaml .yml .cff .sls .clang-format .clang-tidy .clangd .yamllint .gemrc`},
	{styles: []commentStyle{hash}, preamble: []preambleRule{dockerDirective}, names: `
		Dockerfile Dockerfile.* *.Dockerfile .dockerfile Containerfile Containerfile.* *.Containerfile`},
	{styles: []commentStyle{hash}, names: `
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
	{styles: []commentStyle{hash}, preamble: []preambleRule{frontMatter}, names: ".coffee"},
	{styles: []commentStyle{hash, longCMake}, names: ".cmake CMakeLists.txt"},
	{styles: []commentStyle{hash, longJulia}, names: ".jl"},
	{styles: []commentStyle{hash, longPower}, names: ".ps1 .psm1 .psd1"},
	{styles: []commentStyle{hash, starred}, names: ".nix"},
	{styles: []commentStyle{hash, slashes, starred}, names: ".tf .tfvars .tofu .hcl .nomad"},
	{styles: []commentStyle{markup}, preamble: []preambleRule{xmlDeclaration, frontMatter, doctype}, names: `
		.xml .xsd .xsl .xslt .html .htm .xhtml .svg .vue .svelte .wxi .wxl .wxs .wsdl .rng .xaml .axaml .csproj
		.fsproj .vbproj .vcxproj .proj .props .targets .nuspec .resx .plist .storyboard .xib .qrc .kml .gpx .rss
		.atom .xmi .bpmn .pom .iml .fxml .jelly .tld .xlf .xliff .dita .ditamap .docbook .jrxml .glade .mxml .rdf
		.owl .launch .urdf .xacro .dtd .ent .sgml .sgm`},
	{styles: []commentStyle{markup}, preamble: []preambleRule{frontMatter}, names: ".md .markdown .mdown .mkd .qmd .rmd"},
	{styles: []commentStyle{jsx}, preamble: []preambleRule{frontMatter}, names: ".mdx"},
	{styles: []commentStyle{dashes, starred}, names: ".sql .ddl .dml .psql .pgsql .plsql .pls .pks .pkb .hql .cql .sdl .mysql .tsql"},
	{styles: []commentStyle{dashes, longLua}, names: ".lua .luau .moon .rockspec"},
	{styles: []commentStyle{dashes, curlyDash}, names: ".hs .hsc .hs-boot .elm .purs .idr .agda .dhall .cabal cabal.project"},
	{styles: []commentStyle{dashes}, names: ".ada .adb .ads .gpr .vhd .vhdl .applescript .asn .asn1 .mib .psl"},
	{styles: []commentStyle{twoSemi, semicolon, longLisp}, names: `
		.el .lisp .lsp .scm .ss .rkt .sld .scrbl .clj .cljs .cljc .cljd .edn .fnl .hy .wat .wast .asd .ros .smt2
		.kbd dune dune-project`},
	{styles: []commentStyle{semicolon, hash}, names: ".ini .inf .iss .nsi .nsh .asm .nasm .a51 .z80 .zone"},
	{styles: []commentStyle{semicolon}, names: ".ahk .au3"},
	{styles: []commentStyle{percent}, preamble: []preambleRule{texFirst}, names: ".tex .sty .ltx .dtx .ins .bib .bst .bbx .cbx .lbx .clo .tikz .matlab"},
	{styles: []commentStyle{twoPer, percent}, preamble: []preambleRule{coding}, names: ".erl .hrl .yrl .xrl .escript rebar.config"},
	{styles: []commentStyle{percent, starred}, names: ".prolog .lgt .logtalk .mzn .dzn"},
	{styles: []commentStyle{quote}, names: ".vim .vimrc .gvimrc .exrc _vimrc .ideavimrc"},
	{styles: []commentStyle{apos}, names: ".vb .vbs .bas .brs .puml .plantuml"},
	{styles: []commentStyle{bang}, names: ".f .for .ftn .f77 .f90 .f95 .f03 .f08 .f18 .fpp .xdefaults .xresources .factor"},
	{styles: []commentStyle{atRem, rem, twoColons}, names: ".bat .cmd .btm"},
	{styles: []commentStyle{dnl, hash}, names: ".m4 .ac configure.in"},
	{styles: []commentStyle{troff}, preamble: []preambleRule{troffFirst}, names: ".man .mdoc .roff .troff .groff .nroff"},
	{styles: []commentStyle{parens}, names: ".ml .mli .mll .mly .sml .sig .thy .wl .wls .eliom .eliomi"},
	{styles: []commentStyle{curly, parensOne, slashes}, names: ".pas .dpr .dpk .lpr"},
	{styles: []commentStyle{goTrim, goText, markup}, names: ".tmpl .gotmpl .gohtml .gotxt .ctmpl _*.tpl"},
	{styles: []commentStyle{jinja, jinjaOld, markup}, preamble: []preambleRule{frontMatter}, names: ".j2 .jinja .jinja2 .twig .njk .tera"},
	{styles: []commentStyle{bars, markup}, preamble: []preambleRule{frontMatter}, names: ".hbs .handlebars"},
	{styles: []commentStyle{erb, markup}, preamble: []preambleRule{frontMatter}, names: ".erb .rhtml .ejs .eex .leex"},
	{styles: []commentStyle{jsp, markup}, names: ".jsp .jspf .tag .gsp .aspx .ascx .master"},
	{styles: []commentStyle{asp, markup}, names: ".cshtml .vbhtml .razor"},
	{styles: []commentStyle{freemark, markup}, names: ".ftl .ftlh .ftlx"},
	{styles: []commentStyle{velocity}, names: ".vm .vtl"},
}
