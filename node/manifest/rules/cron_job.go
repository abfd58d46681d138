package rules

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// mostOfName bounds the name of a CronJob: its jobs have eleven characters more.
const mostOfName = 52

// CronJob returns the rules that a defaulted CronJob breaks.
func CronJob(job *batchv1.CronJob) field.ErrorList {
	c, spec := workload(&job.ObjectMeta), &job.Spec
	if len(job.Name) > mostOfName {
		c.bad(field.NewPath("metadata", "name"), job.Name, "must be no more than 52 characters")
	}
	c.schedule(spec.Schedule)
	c.zone(spec.TimeZone)
	c.seconds("startingDeadlineSeconds", spec.StartingDeadlineSeconds)
	c.count("successfulJobsHistoryLimit", spec.SuccessfulJobsHistoryLimit)
	c.count("failedJobsHistoryLimit", spec.FailedJobsHistoryLimit)
	oneOf(c.check, c.spec.Child("concurrencyPolicy"), spec.ConcurrencyPolicy, batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)
	c.spec = c.spec.Child("jobTemplate", "spec")
	c.jobOfMany(spec.JobTemplate.Spec.DeepCopy())
	return c.errs
}

// jobOfMany checks a template of jobs, each of which selects its own pods.
func (c workloadCheck) jobOfMany(spec *batchv1.JobSpec) {
	if spec.Selector != nil {
		c.bad(c.spec.Child("selector"), "", "`selector` will be auto-generated")
	}
	if manual := spec.ManualSelector; manual != nil && *manual {
		c.bad(c.spec.Child("manualSelector"), "true", "must be false or left out")
	}
	spec.Selector, spec.ManualSelector = nil, nil
	c.job(spec)
}

func (c workloadCheck) schedule(text string) {
	at := c.spec.Child("schedule")
	if text == "" {
		c.missing(at, "")
		return
	}
	if strings.Contains(text, "TZ") {
		c.bad(at, text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
		return
	}
	if _, err := cron.ParseStandard(text); err != nil {
		c.bad(at, text, err.Error())
	}
}

func (c workloadCheck) zone(name *string) {
	at := c.spec.Child("timeZone")
	switch {
	case name == nil:
	case *name == "":
		c.bad(at, "", "must be nil or non-empty string")
	case strings.EqualFold(*name, "Local"):
		c.bad(at, *name, "must be an explicit time zone as defined in https://www.iana.org/time-zones")
	default:
		if _, err := time.LoadLocation(*name); err != nil {
			c.bad(at, *name, err.Error())
		}
	}
}
