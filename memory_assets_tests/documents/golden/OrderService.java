package com.example.orders;

import java.util.List;
import java.util.Optional;

/** Places and cancels orders. */
@Service
public class OrderService<T extends Order> implements Cancels {

    private final OrderRepository orders;

    /** Creates the service; {@code orders} is where orders are kept. */
    public OrderService(OrderRepository orders) {
        this.orders = orders;
    }

    /**
     * Places an order, and publishes the event of it through the outbox, so that both are written
     * in one transaction. An order without lines is refused, and so is one whose total does not
     * equal the sum of its lines, because a client that computes totals wrongly should be told so.
     *
     * @param order what is ordered
     * @return the order with its id, its time, and the total as it was computed here
     */
    @Transactional
    public <R> Optional<R> place(Order order, java.util.function.Function<Order, R> then) {
        if (order.lines().isEmpty()) {
            throw new IllegalArgumentException("an order needs lines");
        }
        return Optional.of(then.apply(orders.save(order)));
    }

    // A field between methods goes with what follows it.
    private int cancelled;

    @Override
    public void cancel(String id) { orders.delete(id); cancelled++; }

    /** One line of an order, and how many of it were ordered, at which price for each of them. */
    public record Line(String article, int quantity, long price) {
        /** Refuses quantities below one and prices below nothing, which a form may let through. */
        public Line {
            if (quantity < 1 || price < 0) {
                throw new IllegalArgumentException("quantity " + quantity + ", price " + price);
            }
        }

        /** Returns the price of the whole line in cents, never negative, at most Long.MAX_VALUE. */
        public long total() {
            return Math.multiplyExact(price, quantity);
        }
    }

    enum State { PLACED, SHIPPED, CANCELLED }
}
