package job_test

import (
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
	"larder/internal/job"
)

func TestOnlyTheOwnerReadsAJob(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			return job.InsertCompleted(tx, job.Job{ID: "j", Type: "move", OwnerID: "ann", CreatedAt: 5})
		})
		if err != nil {
			t.Fatal(err)
		}
		j, err := job.ByID(d.Read(t.Context()), "ann", "j")
		if err != nil || j.Type != "move" || j.Status != "completed" || j.Progress != 100 || j.ErrorMessage != nil ||
			j.CreatedAt != 5 || *j.CompletedAt != 5 {
			t.Errorf("%+v, %v", j, err)
		}
		for _, c := range [][2]string{{"bob", "j"}, {"ann", "absent"}} { // abuse case C36
			if _, err := job.ByID(d.Read(t.Context()), c[0], c[1]); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s asks for %s: %v", c[0], c[1], err)
			}
		}
	})
}
