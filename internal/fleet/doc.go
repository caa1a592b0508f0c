// Package fleet has the items of a batch made by several machines, over a NATS server with
// JetStream.
//
//	Queue        a batch.Maker: puts orders on the queue, collects what was made
//	Link.Work    takes orders that its model can make, makes them, puts the files into the object store
//	StartServer  a NATS server in this process
//
// On the server there are, each with limits of size and age:
//
//	stream MYNAH_WORK   mynah.work.MODEL.JOB.INDEX   orders; one that is acknowledged is gone
//	stream MYNAH_DONE   mynah.begun.JOB.INDEX        a mark for each time that one is begun
//	                    mynah.done.JOB.INDEX         what came of it
//	bucket MYNAH_AUDIO  JOB.INDEX.RANDOM             finished files, a name for each attempt
//	subject mynah.hello                              who asks it is told of the workers
//
// MODEL stands for checkpoint, precision, instruction level and version: all workers of one
// MODEL share a consumer, and none ever sees an order that it would make differently. JOB
// is a digest of all items of a job and of a random token in its folder, so that jobs do
// not meet, be their items the same, and a job that goes on finds its orders and results.
//
// Nothing is lost: an order leaves the queue when its result is there, a result when its
// file has its name in the job's folder. A worker says while it works that it does; if it
// falls silent, the order goes to another. What the server lost itself is ordered again,
// and streams that it does not have any more are made again by whoever misses them.
// Nothing is there twice: a subject holds one order and one result, and whoever comes
// second removes what it made.
//
// An order that ends its worker cannot be told from one whose worker was ended. So the marks
// are counted: an order that was begun so often and never came to an end is given up, with a
// result that says so. From the second time on it is spoken alone, so that those beside it
// are not given up as well.
package fleet
