import { Order } from "./order";

const LIMIT = 20;

/** What a cart has to say about itself; the shop reads it before it offers to pay. */
export interface CartState {
  readonly lines: ReadonlyArray<{ article: string; quantity: number; price: number }>;
  readonly total: number;
  readonly currency: "EUR" | "USD" | "GBP";
  readonly changedAt: Date;
}

// Adds up what is in a cart. Prices are in cents, so that no fraction is lost on the way, and
// what costs nothing is counted too, because it has to be shipped like everything else.
export const total = (state: CartState): number => {
  return state.lines.reduce((sum, line) => sum + line.quantity * line.price, 0);
};

@Injectable()
export default class Cart {
  private state: CartState;

  /** Adds an article; more than LIMIT different ones are refused with an error of its own. */
  add(article: string, quantity = 1): void {
    if (this.state.lines.length >= LIMIT) throw new Error(`at most ${LIMIT} articles`);
    this.state = { ...this.state, lines: [...this.state.lines, { article, quantity, price: 0 }] };
  }

  /** Turns the cart into an order and empties it; the order is not yet stored by then, which is
   * what the caller has to do, and must not do twice. */
  checkout = (): Order => {
    const order = new Order(this.state.lines);
    this.state = { ...this.state, lines: [], total: 0 };
    return order;
  };
}
