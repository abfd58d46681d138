package cri

import (
	"fmt"
	"strconv"
	"time"
)

// forever marks a program that never ends, or never reacts to SIGTERM.
const forever time.Duration = -1

// program holds the behaviour of a container or an exec. It is written as words in the
// command and args; statements follow each other without a separator:
//
//	run                     run until stopped; the default of a container without words
//	exit CODE [after D]     end with CODE, at once or after D
//	oom [after D]           be killed for want of memory
//	log TEXT, err TEXT      write a line to stdout or stderr at the start
//	ignore-term             on SIGTERM do nothing
//	slow-term D             on SIGTERM end after D; the default is at once
//	no-start                cannot be executed
//
// A command whose first word is none of these stands for an image's own
// program: it runs until stopped.
type program struct {
	lines    []logLine
	lifetime time.Duration
	code     int32
	oom      bool
	onTerm   time.Duration
	noStart  bool
}

type logLine struct{ stream, text string }

// parser reads a program's words one statement at a time.
type parser struct{ words []string }

func parseProgram(words []string) (program, error) {
	prog := program{lifetime: forever}
	p := &parser{words: words}
	for first := true; len(p.words) > 0; first = false {
		verb := p.word()
		known, err := p.statement(verb, &prog)
		switch {
		case err != nil:
			return program{}, fmt.Errorf("parse program %q: %s: %w", words, verb, err)
		case !known && first:
			return program{lifetime: forever}, nil
		case !known:
			return program{}, fmt.Errorf("parse program %q: unknown word %q", words, verb)
		}
	}
	return prog, nil
}

func (p *parser) statement(verb string, prog *program) (known bool, err error) {
	switch verb {
	case "run":
		prog.lifetime = forever
	case "exit":
		if prog.code, err = p.code(); err == nil {
			prog.lifetime, err = p.after()
		}
	case "oom":
		prog.code, prog.oom = 137, true
		prog.lifetime, err = p.after()
	case "log":
		prog.lines = append(prog.lines, logLine{Stdout, p.word()})
	case "err":
		prog.lines = append(prog.lines, logLine{Stderr, p.word()})
	case "ignore-term":
		prog.onTerm = forever
	case "slow-term":
		prog.onTerm, err = time.ParseDuration(p.word())
	case "no-start":
		prog.noStart = true
	default:
		return false, nil
	}
	return true, err
}

// word returns the next word; "" after the last, which is no valid number.
func (p *parser) word() string {
	if len(p.words) == 0 {
		return ""
	}
	word := p.words[0]
	p.words = p.words[1:]
	return word
}

func (p *parser) code() (int32, error) {
	code, err := strconv.ParseUint(p.word(), 10, 8)
	return int32(code), err
}

func (p *parser) after() (time.Duration, error) {
	if len(p.words) == 0 || p.words[0] != "after" {
		return 0, nil
	}
	p.word()
	return time.ParseDuration(p.word())
}
