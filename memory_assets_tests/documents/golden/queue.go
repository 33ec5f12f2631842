// Package queue hands work to workers.
package queue

import "sync"

// Queue is a queue of jobs that many workers take from. Its zero value is ready to use, and it
// must not be copied once it was used, as for every type that holds a lock of the sync package.
type Queue[T any] struct {
	mu   sync.Mutex
	jobs []T
}

// Push adds a job at the end of the queue. It never blocks for longer than another goroutine
// holds the lock, and there is no limit on how many jobs there may be: memory is the limit, so
// a producer that is faster than its consumers has to slow down by itself.
func (q *Queue[T]) Push(job T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, job)
}

// Len is short.
func (q *Queue[T]) Len() int { return len(q.jobs) }

func main() {}
