package kubeletapi

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// serviceQuery is a query to /logs/: for one file, or for services.
type serviceQuery struct {
	node.ServiceLogQuery
	files []string
}

const (
	maxTailLines     = 100_000
	maxServiceLength = 256
	maxServices      = 4
)

// unsafeInService matches the characters that no name of a service may have.
var unsafeInService = regexp.MustCompile(`[^a-zA-Z\-_.:0-9@]+`)

// parseServiceQuery reads a query. It returns nil for a request without one, and then the path counts. Parameters that it
// does not know are upstream's to add, and have no effect.
func parseServiceQuery(values url.Values) (*serviceQuery, field.ErrorList) {
	var q serviceQuery
	var errs field.ErrorList
	asked, named := values["query"]
	for _, word := range asked {
		switch {
		case strings.ContainsAny(word, `/\`):
			q.files = append(q.files, word)
		case strings.TrimSpace(word) != "":
			q.Services = append(q.Services, word)
		}
	}
	if named && len(q.files)+len(q.Services) == 0 {
		errs = append(errs, field.Invalid(field.NewPath("query"), asked, "may not be empty"))
	}
	moment := func(name string, into *time.Time) {
		if text := values.Get(name); text != "" {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				errs = append(errs, field.Invalid(field.NewPath(name), text, "invalid time format"))
			}
			*into = at
		}
	}
	number := func(name string, into **int) {
		if text := values.Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				errs = append(errs, field.Invalid(field.NewPath(name), text, err.Error()))
			}
			*into = &n
		}
	}
	moment("sinceTime", &q.Since)
	moment("untilTime", &q.Until)
	number("boot", &q.Boot)
	number("tailLines", &q.Tail)
	q.Pattern = values.Get("pattern")
	if len(errs) > 0 || len(q.files)+len(q.Services) == 0 && !q.Narrowed() {
		return nil, errs
	}
	return &q, nil
}

// check returns what upstream refuses about a query.
func (q *serviceQuery) check(files fs.FS) field.ErrorList {
	errs := q.checkNames(files)
	invalid := func(name string, value any, why string) {
		errs = append(errs, field.Invalid(field.NewPath(name), value, why))
	}
	if !q.Since.IsZero() && !q.Until.IsZero() && q.Since.After(q.Until) {
		invalid("untilTime", q.Until, "must be after `sinceTime`")
	}
	if q.Boot != nil && *q.Boot > 0 {
		invalid("boot", *q.Boot, "must be less than 1")
	}
	if q.Tail != nil {
		if wrong := utilvalidation.IsInRange(*q.Tail, 0, maxTailLines); wrong != nil {
			invalid("tailLines", *q.Tail, wrong[0])
		}
	}
	if _, err := syntax.Parse(q.Pattern, syntax.Perl); err != nil {
		invalid("pattern", q.Pattern, err.Error())
	}
	if strings.ContainsRune(q.Pattern, 0) {
		invalid("pattern", q.Pattern, "input contains unsupported characters") // no argument of a program may have it
	}
	return errs
}

// checkNames checks what the query names: services, or one file without options.
func (q *serviceQuery) checkNames(files fs.FS) (errs field.ErrorList) {
	at := field.NewPath("query")
	for _, s := range q.Services {
		if len(s) > maxServiceLength {
			errs = append(errs, field.Invalid(at, s, fmt.Sprintf("length must be less than %d", maxServiceLength)))
		} else if unsafeInService.MatchString(s) {
			errs = append(errs, field.Invalid(at, s, "input contains unsupported characters"))
		}
	}
	if len(q.Services) > maxServices {
		errs = append(errs, field.TooMany(at, len(q.Services), maxServices))
	}
	switch {
	case len(q.files)+len(q.Services) == 0:
		errs = append(errs, field.Required(at, "cannot be empty with options"))
	case len(q.files) > 0 && len(q.Services) > 0:
		errs = append(errs, field.Invalid(at, fmt.Sprintf("%v, %v", q.files, q.Services), "cannot specify a file and service"))
	case len(q.files) > 1:
		errs = append(errs, field.Invalid(at, q.files, "cannot specify more than one file"))
	case len(q.files) == 1 && q.Narrowed():
		errs = append(errs, field.Invalid(at, q.files, "cannot specify file with options"))
	case len(q.files) == 1:
		if err := there(files, q.file()); err != nil {
			errs = append(errs, field.Invalid(at, q.files, err.Error()))
		}
	}
	return errs
}

// file returns the path of the file beneath /var/log. Kubernetes' documentation has it with a slash in front.
func (q *serviceQuery) file() string { return clean(q.files[0]) }

// there reports why a file cannot be read.
func there(files fs.FS, name string) error {
	if name == "" {
		name = "."
	}
	f, err := files.Open(name)
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err // the answer names the path already
	}
	if err != nil {
		return err
	}
	return f.Close()
}
